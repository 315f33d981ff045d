"""The intake of turns: checked, redacted, made durable, queued for extraction.

It takes turns as dictionaries from a caller, or a file to import, and produces
acknowledged turns in the journal, and due batches. Start with `intake.py`, then
`queue.py`; `importers/` reads foreign formats.
"""
