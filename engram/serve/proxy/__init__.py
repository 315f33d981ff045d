"""The proxy: an OpenAI client gains memory by changing its base URL.

A request goes in, what the user is known to mean is added before the last user
message, and the answer of the upstream server goes out byte for byte. Start with
`Proxy` in `routes.py`; `messages.py` and `replies.py` read the two formats of the API.
"""
