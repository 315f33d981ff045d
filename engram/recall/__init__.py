"""From a question to hits, and from hits to the text that a model reads.

In: a question with its limits (persona, budget, as-of date). Out: `RecallResult`. Each
hit agrees with its file at that moment and has its evidence. Start with `search.py`; the
operations `recall` and `context` (`operations/`) call it.
"""
