"""Files are written and read safely in folders that strangers have prepared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metalbench.errors import DeclarationError, EncodingError
from metalbench.untrusted_files import read_plain_file, replace_file
from metalbench.workers.remote_protocol import TracePart
from metalbench.workers.remote_workers import TraceWriter


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("mine")
    return path


@pytest.mark.parametrize("name", ["a.json", "a.json.part", "a.part", ".a.json.part", "a.json.tmp"])
def test_replace_file_does_not_change_targets_of_links(
    tmp_path: Path, victim: Path, name: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    replace_file(folder / "a.json", "text")
    assert victim.read_text() == "mine"
    assert (folder / "a.json").read_text() == "text"
    assert not (folder / "a.json").is_symlink()
    assert {each.name for each in folder.iterdir()} == {"a.json", name}


def test_replace_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", "text")
    (tmp_path / "b").write_text("text")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("how", ["folder", "relative", "dangling", "circle", "file"])
def test_replace_file_refuses_links_out_of_the_folder(
    tmp_path: Path, victim: Path, how: str
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    folder.mkdir()
    target = folder / "inner" / "a.json"
    if how == "file":
        target = folder / "a.json"
        target.symlink_to(victim)
    elif how == "circle":
        (folder / "inner").symlink_to("inner")
    else:
        to = {"folder": outside, "relative": Path("../outside"), "dangling": outside / "new"}[how]
        (folder / "inner").symlink_to(to)
    with pytest.raises(DeclarationError, match="a link that leads out of it"):
        replace_file(target, "text", inside=folder)
    assert victim.read_text() == "mine"
    assert list(outside.iterdir()) == []


def test_replace_file_takes_links_within_the_folder_and_a_folder_that_is_a_link(
    tmp_path: Path,
) -> None:
    (tmp_path / "real" / "level").mkdir(parents=True)
    (tmp_path / "real" / "other").symlink_to("level")
    (tmp_path / "run").symlink_to("real")
    replace_file(tmp_path / "run" / "other" / "a", "text", inside=tmp_path / "run")
    assert (tmp_path / "real" / "level" / "a").read_text() == "text"


def test_replace_file_leaves_no_file_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "a", "text")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_read_plain_file_refuses_pipes_devices_folders_and_long_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(bytes(3 << 20))
    for path, got in (
        (tmp_path / "pipe", "a pipe"),
        (Path("/dev/zero"), "a device"),
        (tmp_path, "a folder"),
        (tmp_path / "long", "at most 2 MiB of JSON, got 3145728 bytes"),
        (tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(DeclarationError, match=got):
            read_plain_file(path, 2 << 20, "JSON")


@pytest.mark.parametrize("name", ["trace.part", "trace.tmp"])
def test_a_trace_is_not_written_through_a_prepared_link(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / name).symlink_to(outside)
    with TraceWriter(tmp_path / "trace") as trace:
        trace.add(TracePart("inner/a", b"text"))
    assert list(outside.iterdir()) == []
    assert (tmp_path / "trace" / "inner" / "a").read_bytes() == b"text"
    assert {each.name for each in tmp_path.iterdir()} == {"outside", "trace", name}
    with pytest.raises(EncodingError), TraceWriter(tmp_path / "other") as trace:
        trace.add(TracePart("../a", b"text"))
