"""From a batch of turns to candidate facts, by a model or by the offline rules.

In: a batch with the turns before it. Out: an `Extraction`: candidates with quotes,
relations. An unreadable reply is a ModelError, never an empty extraction. Start with
`extract.py`; the offline rules are in `rules/`.
"""
