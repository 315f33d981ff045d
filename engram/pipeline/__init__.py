"""From a distilled batch to notes: compare with what is known, plan, write.

In: an `Extraction` and the turns it came from. Out: notes, tombstones, edges, boxes,
log rows. The new notes are written last, so that filing a batch again after a crash
changes nothing. Start with `process.py` (the way of a batch), then `reconcile.py`.
"""
