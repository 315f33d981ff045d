"""Connect agents and chat interfaces to the memory.

`connect.py` writes, or prints, what a client needs; `hook.py` is the command that
coding agents call at their events. Start with `CLIENTS` in `connect.py`.
"""
