"""Everything derived from the vault, to look up and to search; deleting it changes no
answer.

In: files that changed (`scan.py`) and turns that still wait for their file.
Out: units by key, and ranked candidates for a question (`search.py`).
`catalog.py` holds rows in SQLite, `bm25.py` words, `vectors.py` meaning.
Start with `search.py`.
"""
