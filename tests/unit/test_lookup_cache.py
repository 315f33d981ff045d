"""What the index keeps of the catalogue and of files, and when it looks again."""

from engram.index.catalog import LookupCache


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
