"""From a batch of turns to candidate facts, by a model or by the offline rules.

It takes a batch with the preceding turns, and returns an `Extraction`: candidates with
quotes, and relations. An unreadable reply is a ModelError, never an empty extraction.
Start with `extract.py`; the offline rules are in `rules/`.
"""
