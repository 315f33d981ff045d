"""The web page of a vault: search, timeline, review, memories, people, health.

In: a request of the owner's browser. Out: a page, made on the server from the answers
of operations. This package contains no rules about memories. Start with `routes.py`;
`html.py` makes all markup, `access.py` authenticates a browser.
"""
