"""Interfaces of the operations table: command line, HTTP, sockets, Python client.

In: a command line, a request or a call. Out: the operation's answer in that form. These
modules contain no rules about memories. Start with `commands/` (command line) and
`http.py`.
"""
