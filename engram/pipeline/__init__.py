"""From turns to notes: take in, distil, decide, write.

In: turns, and what an extractor found in a batch of them. Out: notes, tombstones,
edges, boxes and rows of the action log. A batch can be filed again after a crash
without changing anything. Start with `process.py` (the way of a batch), then
`steps.py` (the steps of one candidate), `reconcile.py` (a batch), `apply.py`.
"""
