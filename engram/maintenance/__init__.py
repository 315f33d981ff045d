"""The vault kept in order: what fades, ends, doubles or belongs together.

In: a snapshot of the vault and the time. Out: a run: planned, checked, recorded,
undoable. `schedule.py` says when, `passes/` say what, `plan.py` gathers it, `run.py`
carries it out. Start with `run.py`.
"""
