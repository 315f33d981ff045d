"""Connections of agents and chat interfaces to the memory.

`connect.py` writes, or prints, the configuration of a client; `hook.py` is the command
that coding agents call at their events. Start with `CLIENTS` in `connect.py`.
"""
