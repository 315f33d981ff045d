"""Rules about text: words, dates, sentences, signals, secrets, planted instructions.

In: the text of a turn or a statement, and the moment at which it was said.
Out: tokens, dates, marks and comparisons; nothing here knows a vault or an index.
Word lists and patterns are in `data/<code>.toml`, one file a language, which
`languages.py` reads. Start with `words.py` and `dates.py`.
"""
