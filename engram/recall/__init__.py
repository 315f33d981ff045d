"""Questions into hits, and hits into text for a model.

In: a question with its limits (persona, budget, as-of date). Out: `RecallResult`. Each
hit agrees with its file at the time of the answer and has its evidence. Start with
`search.py`; the operations `recall` and `context` (`operations/`) call it.
"""
