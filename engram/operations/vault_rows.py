"""The operations on the whole vault: runs, undo, purge, checks, state."""

from __future__ import annotations

from engram.operations.operation import ANY_CALLER, Operation, Param

VAULT_ROWS: tuple[Operation, ...] = (
    Operation(
        "consolidate",
        "maintenance.consolidate",
        "POST",
        "/v1/consolidate",
        "Run maintenance now. Archives, merges and ends memories that are due, and shows each change with its reason.",
        (
            Param(
                "cadence",
                "text",
                "which passes to run: talk, nightly or weekly",
                default="nightly",
            ),
            Param("only", "text", "the only pass to run"),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        waits=True,
        own_command=True,
    ),
    Operation(
        "runs",
        "maintenance.runs",
        "GET",
        "/v1/runs",
        "List the latest runs: maintenance, imports, and statements that ended known facts as they were filed. Shows the id, the time and the changes of each, and whether it can still be undone.",
        (
            Param(
                "last", "int", "maximum number of runs", default=20, least=1, most=1000
            ),
        ),
    ),
    Operation(
        "undo",
        "maintenance.undo",
        "POST",
        "/v1/runs/{id}/undo",
        "Undo a run. Restores its files byte for byte, except those edited since; of an import, hides what it stored. Shows each change.",
        (
            Param(
                "id",
                "text",
                "the id of a run, or an unambiguous prefix of it",
                required=True,
                positional=True,
            ),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "prune",
        "maintenance.prune",
        "POST",
        "/v1/prune",
        "Archive unprotected memories of very low confidence. Shows each change; `engram undo` reverses the run.",
        (
            Param(
                "threshold",
                "float",
                "confidence, reduced by age, below which a memory is archived; 0.05 if absent",
                least=0,
                most=1,
            ),
            Param(
                "dry_run",
                "bool",
                "show what would be done and change nothing",
                default=False,
            ),
        ),
        writes=True,
    ),
    Operation(
        "purge",
        "purging.purge",
        "POST",
        "/v1/purge",
        "Delete memories and turns for good, from every store. Shows what would be deleted; with --yes deletes it and searches all files for remaining words. It cannot be undone, and older git commits still contain it.",
        (
            Param(
                "ids",
                "list",
                "ids of memories and of turns, or unambiguous prefixes",
                positional=True,
            ),
            Param("session", "text", "every turn of this conversation"),
            Param(
                "about",
                "text",
                "everything about the person, place or thing with this name",
            ),
            Param("trash", "bool", "only empty `.trash/`", default=False),
            Param("yes", "bool", "delete; without it nothing changes", default=False),
            Param(
                "dry_run",
                "bool",
                "list what would be deleted and change nothing",
                default=False,
            ),
        ),
        call_facts=("owner",),
        writes=True,
    ),
    Operation(
        "forecast",
        "maintenance.forecast",
        "GET",
        "/v1/forecast",
        "Forecast the changes of unused memories. Shows the day on which each becomes stale, ends or is archived, and why.",
        (
            Param("days", "int", "how many days ahead", default=30, least=1, most=3650),
            Param(
                "curve",
                "bool",
                "add the values of each memory over time",
                default=False,
            ),
        ),
        writes=True,
        own_command=True,
    ),
    Operation(
        "reindex",
        "files.reindex",
        "POST",
        "/v1/reindex",
        "Rebuild the index from the files of the vault. Shows the seconds it took, and counts of memories, turns and files.",
        writes=True,
        own_command=True,
    ),
    Operation(
        "doctor",
        "health.doctor",
        "POST",
        "/v1/doctor",
        "Check vault, journal, index and models for problems. Shows each problem with its place and its fix.",
        (
            Param(
                "accept_deletions",
                "bool",
                "accept that many notes were deleted at once",
                default=False,
            ),
            Param(
                "calibrate",
                "bool",
                "add the calibration of the embedding model's similarities in this vault",
                default=False,
            ),
        ),
        waits=True,
    ),
    Operation(
        "stats",
        "health.stats",
        "GET",
        "/v1/stats",
        "Count memories, turns and files. Shows one line for each count, and how many turns wait.",
        callers=ANY_CALLER,
        own_command=True,
    ),
    Operation(
        "status",
        "health.status",
        "GET",
        "/v1/status",
        "Show the state of the daemon, and the parts that do not work.",
        callers=ANY_CALLER,
        call_facts=("ready",),
        own_command=True,
    ),
)
