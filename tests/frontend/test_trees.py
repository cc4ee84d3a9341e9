"""Test digest_trees: unchanged files are not read again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metalbench.build_cache import digest_trees


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    made = tmp_path / "tree"
    (made / "inner").mkdir(parents=True)
    (made / "a.py").write_text("a")
    (made / "inner/b.py").write_text("b")
    (made / "c.txt").write_text("c")
    return made


def digest(folder):
    return digest_trees([(folder, (".py",))])


def test_digest_trees_uses_contents_and_names_by_suffix(folder):
    one = digest(folder)
    (folder / "c.txt").write_text("other")
    assert digest(folder) == one
    (folder / "inner/b.py").write_text("x")
    other = digest(folder)
    assert other != one
    (folder / "inner/b.py").rename(folder / "inner/d.py")
    assert len({one, other, digest(folder)}) == 3


def test_digest_trees_does_not_reread_unchanged_files(folder, monkeypatch):
    one = digest(folder)
    read = []
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self.name) or original(self))
    assert digest(folder) == one
    assert not [each for each in read if each.endswith(".py")]


def test_digest_trees_ignores_times(folder):
    one = digest(folder)
    os.utime(folder / "a.py", (1, 1))
    assert digest(folder) == one


def test_digest_trees_works_without_a_cache(folder, tmp_path, monkeypatch):
    one = digest(folder)
    monkeypatch.setenv("METALBENCH_CACHE", str(folder / "c.txt"))
    assert digest(folder) == one
