"""The index of a vault: look-ups and search; deleting it changes no answer.

It takes changed files (`scan.py`) and turns that wait for their file, and returns units
(facts, turns, notes) by key, and ranked units for a question. `catalog.py` does the
look-ups in SQLite, `bm25.py` the search by words, `semantic.py` the search by vectors.
Start with the class `Index` in `search.py`.
"""
