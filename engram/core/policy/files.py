"""Numbers for files, git and the daemon."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """Behaviour towards files and editors."""

    front_matter_bytes: int = number(
        65536, "bytes", 1024, 1048576, "vault", "longest front matter that is parsed"
    )
    nesting: int = number(
        16, "levels", 1, 100, "vault", "deepest nesting of front matter that is parsed"
    )
    nodes: int = number(
        5000, "nodes", 10, 100000, "vault", "most YAML nodes that are parsed"
    )
    note_bytes: int = number(
        5242880, "bytes", 1024, 1073741824, "vault", "largest note that is read"
    )
    quiet_seconds: float = number(
        60.0,
        "seconds",
        0,
        3600,
        "vault",
        "time after a user edit before engram writes to a note",
    )
    settle_seconds: float = number(
        0.3, "seconds", 0, 10, "vault", "time after an event before the file is read"
    )
    settle_most_seconds: float = number(
        2.0, "seconds", 0, 60, "vault", "longest wait for a busy file"
    )
    vanished_share: float = number(
        0.2,
        "share",
        0,
        1,
        "vault",
        "share of notes missing at once from which deletions are suspended",
    )
    vanished_notes: int = number(
        50,
        "notes",
        1,
        1000000,
        "vault",
        "notes missing at once from which deletions are suspended",
    )
    vanished_least: int = number(
        5,
        "notes",
        1,
        1000,
        "vault",
        "missing notes below which the share suspends nothing",
    )
    racy_seconds: float = number(
        2.0,
        "seconds",
        0,
        60,
        "vault",
        "age below which the times of a file are not trusted",
    )
    units: int = number(
        4096,
        "units",
        0,
        1000000,
        "X18",
        "units of the catalogue in the cache of look-ups",
    )
    scan_batch: int = number(
        2000, "files", 1, 100000, "X20", "files that a scan reads between two commits"
    )
    rescan_minutes: float = number(
        60.0, "minutes", 1, 1440, "vault", "time between full rescans"
    )
    look_seconds: float = number(
        1.0,
        "seconds",
        0,
        3600,
        "X19",
        "age of the last check of the files from which a command checks them again",
    )
    look_share: float = number(
        0.05,
        "share",
        0.001,
        1,
        "X19",
        "share of the time for such checks, which a large vault makes rarer",
    )
    watch_paths: int = number(
        1000,
        "paths",
        1,
        1000000,
        "vault",
        "changed paths from which the whole vault is scanned",
    )
    watch_check_seconds: float = number(
        2.0,
        "seconds",
        0.05,
        3600,
        "vault",
        "time between checks whether the root is gone or back",
    )
    poll_seconds: float = number(
        5.0,
        "seconds",
        0.05,
        3600,
        "vault",
        "time between checks of the files where events do not work",
    )
    git_seconds: float = number(
        30.0, "seconds", 0.01, 3600, "vault", "longest time of git for one commit"
    )
    git_rest_seconds: float = number(
        60.0,
        "seconds",
        0,
        86400,
        "vault",
        "time before a commit that was not possible is retried",
    )
    git_rest_refused_seconds: float = number(
        600.0,
        "seconds",
        0,
        86400,
        "vault",
        "time before a commit that failed or took too long is retried",
    )
    git_lock_minutes: float = number(
        60.0,
        "minutes",
        1,
        100000,
        "vault",
        "age from which a lock of git without an owner is removed",
    )


@dataclass(frozen=True, slots=True)
class ServePolicy:
    """The daemon and its interfaces (design of interfaces)."""

    body_bytes: int = number(
        16777216,
        "bytes",
        1024,
        1073741824,
        "quality",
        "largest request that is accepted",
    )
    proxy_bytes: int = number(
        67108864,
        "bytes",
        1024,
        1073741824,
        "interfaces",
        "largest request that the proxy forwards",
    )
    proxy_milliseconds: int = number(
        300,
        "milliseconds",
        1,
        60000,
        "interfaces",
        "longest wait for memories before the proxy forwards a request without them",
    )
    proxy_characters: int = number(
        4000,
        "characters",
        100,
        1000000,
        "interfaces",
        "part of a message that is the proxy's question to the memory",
    )
    proxy_threads: int = number(
        8, "threads", 1, 256, "interfaces", "requests that the proxy reads at once"
    )
    queue_jobs: int = number(
        1000, "jobs", 1, 1000000, "interfaces", "jobs waiting for the writer before 429"
    )
    workers: int = number(
        2, "threads", 1, 64, "interfaces", "batches extracted at once"
    )
    stop_seconds: float = number(
        20.0,
        "seconds",
        0,
        3600,
        "interfaces",
        "longest wait for running work on a stop",
    )
    stall_seconds: float = number(
        600.0,
        "seconds",
        1,
        86400,
        "interfaces",
        "duration of a job from which the writer counts as stuck",
    )
    beat_seconds: float = number(
        1.0, "seconds", 0.01, 60, "interfaces", "time between two heartbeats"
    )
    silent_seconds: float = number(
        20.0,
        "seconds",
        1,
        3600,
        "interfaces",
        "time without a heartbeat from which the server counts as stuck",
    )
    flush_seconds: float = number(
        600.0,
        "seconds",
        0,
        86400,
        "interfaces",
        "longest wait of a flush for its turns",
    )
    read_seconds: float = number(
        30.0,
        "seconds",
        0,
        3600,
        "X20",
        "longest wait of turns for a new catalogue to be complete",
    )
    lock_seconds: float = number(
        10.0,
        "seconds",
        0,
        3600,
        "interfaces",
        "longest wait of a start for a locked vault",
    )
    lock_look_seconds: float = number(
        0.1, "seconds", 0.01, 60, "interfaces", "time between two attempts to lock it"
    )
    head_seconds: float = number(
        10.0,
        "seconds",
        0.1,
        3600,
        "quality",
        "longest time from the connection to the end of a request's head",
    )
    body_seconds: float = number(
        30.0,
        "seconds",
        0.1,
        3600,
        "quality",
        "longest time for the body of a request",
    )
    linger_seconds: float = number(
        0.05,
        "seconds",
        0,
        10,
        "quality",
        "time for a new connection to send a request before the socket closes",
    )
    connections: int = number(
        256, "connections", 1, 100000, "quality", "connections of one socket before 503"
    )
    open_vaults: int = number(
        64, "vaults", 1, 10000, "interfaces", "vaults of a pool that are open at once"
    )
    lease_seconds: float = number(
        15.0,
        "seconds",
        1,
        3600,
        "X15",
        "duration of a lease in the database",
    )
    database_connections: int = number(
        8, "connections", 1, 1000, "X15", "connections of a process to the database"
    )
    idle_seconds: float = number(
        300.0,
        "seconds",
        0,
        86400,
        "interfaces",
        "time without a request after which a vault of a pool is closed",
    )
    pool_look_seconds: float = number(
        5.0,
        "seconds",
        0.01,
        3600,
        "interfaces",
        "time between two checks for new folders and idle vaults of a pool",
    )
    vault_places: int = number(
        8,
        "requests",
        1,
        1000,
        "interfaces",
        "concurrent requests for one vault of a pool",
    )
    vault_queue: int = number(
        64, "requests", 1, 100000, "interfaces", "further waiting requests before 429"
    )
    broken_seconds: float = number(
        5.0,
        "seconds",
        0,
        3600,
        "interfaces",
        "time before opening a broken vault is retried",
    )
    model_places: int = number(
        8,
        "calls",
        1,
        1000,
        "X15",
        "background model calls of all vaults of a pool at once",
    )
    places: int = number(
        24,
        "requests",
        1,
        39,
        "quality",
        "concurrent requests of one operation, fewer than there are threads",
    )
