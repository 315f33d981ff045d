"""Turns into notes: the write path of a memory.

In: turns, and the extraction of a batch of turns. Out: notes, tombstones, edges, boxes
and rows of the action log. Filing a batch again, as after a crash, changes nothing.
Start with `process.py` (the path of a batch), then `steps.py` (the steps of one
candidate), `reconcile.py` (the plan of a batch) and `apply.py` (the writes).
"""
