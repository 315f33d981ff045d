"""The process that serves one vault: one writer thread, its workers, its sockets.

In: settings and a server to start. Out: a running process that systemd can watch.
Only the writer thread changes notes; models are asked by workers.
Start with `daemon.py`.
"""
