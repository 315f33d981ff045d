"""What a text says: words, dates, sentences, triggers, secrets, instructions.

In: the text of a turn or a statement, and the moment at which it was said.
Out: tokens, dates, marks and comparisons; nothing here knows a file or an index.
Word lists and patterns stand in `data/<code>.toml`, one file a language.
Start with `words.py` and `dates.py`.
"""
