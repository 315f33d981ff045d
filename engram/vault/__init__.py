"""The files of a vault: reading, writing, watching. Only this package changes files.

In: records and planned changes. Out: notes on the disk, records read from notes, and
problems with their path and line. Start with `store.py`, which applies changes to
notes, and `journal.py`, which stores turns before they are filed. Every write goes
through `disk.py`, which says what a crash leaves; `frontmatter.py` parses all notes.
"""
