"""The public operations on a vault, as `remember`, `recall` and `forget`.

In: the name of an operation and its arguments. Out: a dictionary that fits JSON, or an
EngramError. A new command and HTTP route takes two files, three at most: a row in
`conversation_rows.py`, `memory_rows.py` or `vault_rows.py`, a method that handles it in
the module of its part, and, where its result shall not print as a plain tree, a
function in `serve/render/`. Start with `table.py`, which has all rows.
"""
