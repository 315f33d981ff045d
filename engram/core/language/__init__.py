"""Rules about text: words, dates, sentences, signals, secrets, planted instructions.

They take the text of a turn or a statement and its time, and return tokens, dates,
marks and comparisons, independently of a vault or an index. Word lists and patterns are
in `data/<code>.toml`, one file a language, which `languages.py` reads. Start with
`words.py` and `dates.py`.
"""
