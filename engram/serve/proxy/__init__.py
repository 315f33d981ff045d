"""The proxy: an OpenAI client gains memory by changing its base URL.

In: a request. The context is added before the last user message. Out: the answer of the
upstream server, byte for byte. Start with `Proxy` in `routes.py`; `messages.py` and
`replies.py` read the two formats of the API.
"""
