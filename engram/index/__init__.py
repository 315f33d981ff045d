"""The index of a vault: look-ups and search; deleting it changes no answer.

In: files that changed (`scan.py`) and turns that wait for their file.
Out: units (facts, turns, notes) by key, and ranked units for a question.
Parts: `catalog.py` looks up in SQLite, `bm25.py` searches words, `semantic.py` meaning.
Start with the class `Index` in `search.py`.
"""
