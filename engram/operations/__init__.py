"""The public operations on a vault, such as `remember`, `recall` and `forget`.

In: the name of an operation and its arguments. Out: a dictionary that can be written as
JSON, or an EngramError. A new command and HTTP route is a method in the module of its
topic, marked with `signature.operation`; the type of its result is in `results.py`.
`make docs` writes its row of `table.json`. Start with `signature.py`.
"""
