"""Thin translators of the operations table: command line, HTTP, sockets, Python client.

In: a command line, a request or a call. Out: the operation's answer in that form.
Nothing here decides anything about memories.
Start with `commands/` (command line) and `http.py`.
"""
