"""The process that serves one or more vaults: a writer thread, workers and sockets.

In: settings and a server to start. Out: a running process that systemd can watch. Only
the writer thread of a vault changes its notes; workers call the models. Start with
`daemon.py`.
"""
