"""The public verbs. One table, and the handlers of its rows.

In: a name and its arguments, checked against `table.py`. Out: a dictionary that fits
JSON. Command line, HTTP and Python only translate this table. Start with `table.py`.
"""
