"""`engram export` and `init --from`: a vault as one file, byte for byte; and `open`."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from engram.errors import BadRequestError, ForbiddenError, StorageError
from engram.serve.archive import unpack
from engram.vault import disk
from tests.fakes.world import World


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    made = World(folder)
    made.engram("remember", "Carla is allergic to peanuts.")
    made.engram("observe", stdin='{"text": "My sister Anna lives in Porto."}\n')
    (made.vault / "own.md").write_text("my own note\r\nwith line ends\r\n")
    return folder.rename(folder.with_name(f"{folder.name}-gone"))


@pytest.fixture
def world(tmp_path, source):
    return World(tmp_path, source)


def content(vault):
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in vault.rglob("*")
        if path.is_file()
    }


def test_a_vault_comes_back_byte_for_byte_and_answers(world, tmp_path):
    file, again, copy = (tmp_path / name for name in ("v.tar", "w.tar", "copy"))
    packed = world.json("export", str(file))
    world.engram("export", str(again))
    assert file.read_bytes() == again.read_bytes()
    before = content(world.vault)
    assert packed["files"] == len(before)

    world.engram("init", str(copy), "--from", str(file), "--dry-run")
    assert not copy.exists()
    words = world.engram("init", str(copy), "--from", str(file))
    assert "files of the archive were restored" in words
    assert content(copy) == before
    recalled = world.engram("recall", "peanuts", "--vault", str(copy))
    assert "Carla" in recalled


def test_nothing_is_overwritten(world, tmp_path):
    file = tmp_path / "v.tar"
    file.write_text("mine")
    assert "exists already" in world.engram("export", str(file), code=65)
    assert file.read_text() == "mine"
    file.unlink()
    world.engram("export", str(file))
    full = tmp_path / "full"
    full.mkdir()
    (full / "note.md").write_text("mine")
    words = world.engram("init", str(full), "--from", str(file), code=65)
    assert "has files already" in words
    assert content(full) == {"note.md": b"mine"}


def archive(path, *names):
    with tarfile.open(path, "w") as tar:
        for name in names:
            row = tarfile.TarInfo(name)
            row.size = 1
            tar.addfile(row, io.BytesIO(b"x"))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../out.md", ForbiddenError),
        ("/tmp/attach.md", ForbiddenError),
        ("a/../../out.md", ForbiddenError),
        ("x/y.md", BadRequestError),
    ],
)
def test_a_bad_name_is_told_before_anything_is_written(tmp_path, name, fault):
    """Also by a dry run: one that leads out of the folder, or below a file."""
    archive(tmp_path / "bad.tar", "engram.toml", "a.md", "x", name)
    for dry_run in (True, False):
        with pytest.raises(fault):
            unpack(tmp_path / "bad.tar", tmp_path / "copy", dry_run=dry_run)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar"]


def test_a_restore_that_was_cut_short_is_no_vault_and_goes_on(world, tmp_path):
    file, copy = tmp_path / "v.tar", tmp_path / "copy"
    world.engram("export", str(file))
    before = content(world.vault)
    copy.mkdir()
    with tarfile.open(file) as tar:
        names = [name for name in tar.getnames() if name != "engram.toml"]
        for name in names[: len(names) // 2]:
            tar.extract(name, copy, filter="data")
    assert not (copy / "engram.toml").exists()
    world.engram("init", str(copy), "--from", str(file))
    assert content(copy) == before
    words = world.engram("init", str(copy), "--from", str(file), code=65)
    assert "has files already" in words


def test_the_vault_is_marked_last(tmp_path, monkeypatch):
    archive(tmp_path / "v.tar", "engram.toml", "a.md", "b.md")
    written = []

    def write(path, raw):
        written.append(path.name)
        if path.name == "b.md":
            raise StorageError("no space left")
        path.write_bytes(raw)

    monkeypatch.setattr(disk, "write_new", write)
    with pytest.raises(StorageError):
        unpack(tmp_path / "v.tar", tmp_path / "copy", dry_run=False)
    assert written == ["a.md", "b.md"]


def test_links_are_left_out_and_told(world, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (world.vault / "link.md").symlink_to("/etc/hostname")
    (world.vault / "folder").symlink_to(tmp_path / "elsewhere")
    packed = world.json("export", str(tmp_path / "v.tar"))
    assert packed["left_out"] == ["folder", "link.md"]
    words = world.engram("export", str(tmp_path / "w.tar"))
    assert "link.md" in words


def test_another_file_is_no_archive(world, tmp_path):
    (tmp_path / "x.tar").write_text("words")
    archive(tmp_path / "y.tar", "a.md")
    for name in ("x.tar", "y.tar"):
        source = str(tmp_path / name)
        words = world.engram("init", str(tmp_path / "n"), "--from", source, code=64)
        assert "no archive of a vault" in words
    missing = str(tmp_path / "z.tar")
    world.engram("init", str(tmp_path / "n"), "--from", missing, code=66)


def test_a_note_is_opened_in_the_editor(world, tmp_path):
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    script.chmod(0o755)
    world.env["EDITOR"] = str(script)
    hit = world.json("recall", "peanuts")["hits"][0]
    path = world.json("open", hit["id"])["path"]
    assert (tmp_path / "opened").read_text().strip() == path
    assert Path(path).exists()
    assert world.json("open", "Anna")["path"].endswith("Anna.md")
