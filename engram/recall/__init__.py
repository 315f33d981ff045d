"""From a question to hits, and from hits to the text that a model reads.

In: a question with its wishes (persona, budget, as-of date). Out: `Recalled`, or a
context. What is returned stands in the files at that moment; each hit has its evidence.
Start with `search.py`; `context.py` builds what a bot needs before each answer.
"""
