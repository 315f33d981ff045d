"""Pure rules over frozen records: no clock, no disk, no randomness.

The rules take records (`records.py`), numbers (`policy.py`) and the time as arguments,
and return values with their reasons in words; tests, `why` and the log show these
reasons. Start with `records.py`, then read `lifecycle.py` (status, stage and archive of
a memory) and `decay.py`.
"""
