"""Turns come in: checked, redacted, made durable, queued for extraction.

In: turns as dictionaries from a caller, or a file to import.
Out: turns in the journal, acknowledged, and batches that are due.
Start with `intake.py`, then `queue.py`; `importers/` reads foreign formats.
"""
