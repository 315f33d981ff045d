"""Files and doors."""

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
        16, "levels", 1, 100, "vault", "deepest front matter that is parsed"
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
        "rest after a person's edit before we write a note",
    )
    settle_seconds: float = number(
        0.3, "seconds", 0, 10, "vault", "rest after an event before the file is read"
    )
    settle_most_seconds: float = number(
        2.0, "seconds", 0, 60, "vault", "longest a busy file is waited for"
    )
    vanished_share: float = number(
        0.2,
        "share",
        0,
        1,
        "vault",
        "share of notes gone at once that freezes deletions",
    )
    vanished_notes: int = number(
        50, "notes", 1, 1000000, "vault", "notes gone at once that freeze deletions"
    )
    vanished_least: int = number(
        5,
        "notes",
        1,
        1000,
        "vault",
        "notes gone at once below which a share freezes nothing",
    )
    racy_seconds: float = number(
        2.0,
        "seconds",
        0,
        60,
        "vault",
        "age below which a file's times cannot be trusted",
    )
    units: int = number(
        4096,
        "units",
        0,
        1000000,
        "X18",
        "units of the catalogue that are remembered once asked for",
    )
    scan_batch: int = number(
        2000, "files", 1, 100000, "X20", "files a scan reads between two commits"
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
        "age of the last look at the files from which a command looks again itself",
    )
    look_share: float = number(
        0.05,
        "share",
        0.001,
        1,
        "X19",
        "part of the time such looks may take: in a large vault they come less often",
    )
    watch_paths: int = number(
        1000, "paths", 1, 1000000, "vault", "changed paths from which all is rescanned"
    )
    watch_check_seconds: float = number(
        2.0,
        "seconds",
        0.05,
        3600,
        "vault",
        "time between looks for a root gone or back",
    )
    poll_seconds: float = number(
        5.0,
        "seconds",
        0.05,
        3600,
        "vault",
        "time between looks where events do not work",
    )
    git_seconds: float = number(
        30.0, "seconds", 0.01, 3600, "vault", "longest that git may take for one commit"
    )
    git_rest_seconds: float = number(
        60.0,
        "seconds",
        0,
        86400,
        "vault",
        "time until a commit that was not possible is tried again",
    )
    git_rest_refused_seconds: float = number(
        600.0,
        "seconds",
        0,
        86400,
        "vault",
        "the same where git refused, or took too long",
    )
    git_lock_minutes: float = number(
        60.0,
        "minutes",
        1,
        100000,
        "vault",
        "age from which a lock of git that no process holds is removed",
    )


@dataclass(frozen=True, slots=True)
class ServePolicy:
    """The daemon and its doors (design of interfaces)."""

    body_bytes: int = number(
        16777216, "bytes", 1024, 1073741824, "quality", "largest request that is read"
    )
    proxy_bytes: int = number(
        67108864,
        "bytes",
        1024,
        1073741824,
        "interfaces",
        "largest request that the proxy passes on",
    )
    proxy_milliseconds: int = number(
        300,
        "milliseconds",
        1,
        60000,
        "interfaces",
        "longest that a request waits for its memories before it passes without",
    )
    proxy_characters: int = number(
        4000,
        "characters",
        100,
        1000000,
        "interfaces",
        "part of a message that the proxy asks the memory with",
    )
    proxy_threads: int = number(
        8, "threads", 1, 256, "interfaces", "requests of the proxy read at once"
    )
    queue_jobs: int = number(
        1000, "jobs", 1, 1000000, "interfaces", "jobs waiting for the writer before 429"
    )
    workers: int = number(
        2, "threads", 1, 64, "interfaces", "batches distilled at once"
    )
    stop_seconds: float = number(
        20.0, "seconds", 0, 3600, "interfaces", "longest a stop waits for work in hand"
    )
    stall_seconds: float = number(
        600.0,
        "seconds",
        1,
        86400,
        "interfaces",
        "job length from which the writer is stuck",
    )
    beat_seconds: float = number(
        1.0, "seconds", 0.01, 60, "interfaces", "time between two signs of life"
    )
    silent_seconds: float = number(
        20.0, "seconds", 1, 3600, "interfaces", "silence from which the server is stuck"
    )
    flush_seconds: float = number(
        600.0, "seconds", 0, 86400, "interfaces", "longest a flush waits for its turns"
    )
    read_seconds: float = number(
        30.0,
        "seconds",
        0,
        3600,
        "X20",
        "longest that turns wait until a new catalogue has read the vault",
    )
    lock_seconds: float = number(
        10.0, "seconds", 0, 3600, "interfaces", "longest a start waits for a held vault"
    )
    lock_look_seconds: float = number(
        0.1, "seconds", 0.01, 60, "interfaces", "time between two tries of it"
    )
    head_seconds: float = number(
        10.0,
        "seconds",
        0.1,
        3600,
        "quality",
        "longest that the head of a request may take from its connection's begin",
    )
    body_seconds: float = number(
        60.0,
        "seconds",
        0.1,
        3600,
        "quality",
        "longest that the body of a request takes",
    )
    linger_seconds: float = number(
        0.05,
        "seconds",
        0,
        10,
        "quality",
        "time for a connection that was just made to ask before the door closes",
    )
    connections: int = number(
        256, "connections", 1, 100000, "quality", "connections of one door before 503"
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
        "time after which a vault that is not renewed in the database has no owner",
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
        "time between two looks for new folders and idle vaults of a pool",
    )
    vault_places: int = number(
        8, "requests", 1, 1000, "interfaces", "requests for one vault of a pool at once"
    )
    vault_queue: int = number(
        64, "requests", 1, 100000, "interfaces", "further ones that wait before 429"
    )
    broken_seconds: float = number(
        5.0,
        "seconds",
        0,
        3600,
        "interfaces",
        "time until a broken vault is tried again",
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
        "requests of one operation carried out at once, fewer than there are threads",
    )
