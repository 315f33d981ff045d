"""What the index keeps of the catalogue and of files, and when it looks again."""

import hashlib
import os
import time
from dataclasses import replace

from engram.index.cache import LookupCache
from engram.vault.paths import FilePlace


def reader(seen, values):
    def read(keys):
        seen.extend(keys)
        return {key: values[key] for key in keys if key in values}

    return read


def test_a_look_up_is_made_once_until_the_catalogue_changes(memory):
    database = memory.index.catalog.database
    cache, seen = LookupCache(database, 10), []
    read = reader(seen, {"a": 1, "b": 2})
    assert cache.get(["a", "b", "none"], read) == {"a": 1, "b": 2}
    assert cache.get(["b", "none", "a"], read) == {"b": 2, "a": 1}
    assert seen == ["a", "b", "none"]
    with database.transaction():
        pass
    assert cache.get(["a"], read) == {"a": 1}
    assert seen == ["a", "b", "none", "a"]


def test_the_oldest_look_ups_go_first(memory):
    cache, seen = LookupCache(memory.index.catalog.database, 2), []
    read = reader(seen, dict.fromkeys("abc", 1))
    assert cache.get("abc", read) == {"a": 1, "b": 1, "c": 1}
    cache.get("bc", read)
    assert seen == ["a", "b", "c"]
    cache.get("a", read)
    assert seen == ["a", "b", "c", "a"]


# row: X19
def test_a_write_is_noticed_though_size_and_time_of_the_file_stay(opened, settings):
    files = replace(settings.policy.files, settle_most_seconds=0)
    memory = opened(policy=replace(settings.policy, files=files))
    note = settings.vault / "note.md"
    note.write_bytes(b"The heron nests by the mill.\n")
    sha = hashlib.sha256(note.read_bytes()).hexdigest()
    place = FilePlace("note.md", sha)
    before = note.stat()
    time.sleep(0.02)  # longer than a tick of the clock of files
    scanner = memory.index.scanner
    assert scanner.is_unchanged(place)
    assert scanner.is_unchanged(place)
    note.write_bytes(b"The heron nests by the lake.\n")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert note.stat().st_mtime_ns == before.st_mtime_ns
    assert not scanner.is_unchanged(place)
