"""The files of a vault: reading, writing, watching. Only this package changes files.

It takes records and planned changes, and returns records parsed from notes, and
problems with their path and line. Start with `store.py`, which applies changes to
notes, and `journal.py`, which stores turns before they are filed. Every write goes
through `disk.py`, which describes the states that a crash can leave; `frontmatter.py`
parses all notes.
"""
