"""Maintenance: the runs that archive, merge, summarise and link memories.

In: a snapshot of the vault, and the time. Out: a run that is planned, recorded, applied
and can be undone. `schedule.py` decides when, `passes/` propose changes, `plan.py`
collects the permitted ones, `apply.py` writes them. Start with `run.py`.
"""
