"""The public operations on a vault, such as `remember`, `recall` and `forget`.

In: the name of an operation and its arguments. Out: a dictionary that can be written as
JSON, or an EngramError. A new command and HTTP route takes two or three files: a row in
`table.py`, a method in the module of its part, and, if its result is not printed as a
plain tree, a function in `serve/render/`. Start with `table.py`.
"""
