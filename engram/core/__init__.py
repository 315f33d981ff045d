"""Pure rules over frozen records: no clock, no disk, no randomness.

In: records (`records.py`), numbers (`policy/`) and the time as arguments.
Out: values and reasons in words; the reason is what tests, `why` and the log show.
Start with `records.py`, then `lifecycle.py` (what becomes of a memory) and `decay.py`.
"""
