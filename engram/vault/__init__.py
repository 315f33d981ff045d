"""The files of a vault: reading, writing, watching. The only package that changes a
file.

In: records and planned changes. Out: notes on the disk, and problems with their place.
`disk.py` is the only door to the file system; `frontmatter.py` is the only parser of
notes. Start with `store.py` (the writer of notes) and `journal.py` (turns before they
are filed).
"""
