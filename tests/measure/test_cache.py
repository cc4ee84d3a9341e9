"""The number of cold copies, on machines of all sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench.measure import device_limits
from metalbench.measure.device_limits import (
    LARGEST_KNOWN,
    MIB,
    last_level_cache_bytes,
    plan_rotation,
    warn_of_two_sets,
)


@pytest.mark.parametrize(
    ("chip", "mebibytes"),
    [("m1", 8), ("m2_pro", 24), ("m3_max", 48), ("m2_ultra", 96), ("m9_huge", 96)],
)
def test_chips_have_their_system_level_cache(chip: str, mebibytes: int) -> None:
    assert last_level_cache_bytes(chip) == mebibytes * MIB


def test_cache_sizes_are_read_on_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_limits.sys, "platform", "linux")
    for index, size in enumerate(("48K", "64K", "2048K", "33M")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n")
    assert last_level_cache_bytes(None, linux=tmp_path) == 33 * MIB


def test_an_unknown_cache_is_taken_for_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_limits.sys, "platform", "linux")
    assert last_level_cache_bytes(None, linux=tmp_path) == LARGEST_KNOWN


@pytest.mark.parametrize(("pass_bytes", "copies"), [(8 * MIB, 3), (5 * MIB, 5), (100 * MIB, 1)])
def test_copies_are_three_times_the_cache(pass_bytes: int, copies: int) -> None:
    turns = plan_rotation(pass_bytes, 8 * MIB, 16 << 30)
    assert (turns.copies, turns.doubt) == (copies, None)


def test_plan_rotation_limits_copies_to_the_memory() -> None:
    turns = plan_rotation(8 * MIB, 96 * MIB, 1 << 30)
    assert turns.copies == 16
    assert turns.doubt is not None
    assert "16 copies" in turns.doubt
    assert "1.3 times the last-level cache (96 MiB), not 3 times" in turns.doubt


def test_plan_rotation_limits_the_copies_of_tiny_inputs() -> None:
    turns = plan_rotation(64, 96 * MIB, 1 << 36)
    assert turns.copies == device_limits.MOST_COPIES
    assert turns.doubt is not None


def test_warn_of_two_sets_reports_inputs_beyond_the_cache() -> None:
    room = 16 << 30
    assert warn_of_two_sets(2 * MIB, 2 * MIB, 8 * MIB, room) is None
    said = warn_of_two_sets(6 * MIB, 2 * MIB, 8 * MIB, room)
    assert said is not None
    assert "14 MiB with the outputs, of 8 MiB, where one set would fit (8 MiB)" in said
    # One set does not fit either.
    assert warn_of_two_sets(9 * MIB, 2 * MIB, 8 * MIB, room) is None
    said = warn_of_two_sets(2048 * MIB, 1 * MIB, 8 * MIB, room)
    assert said is not None
    assert "more than a quarter of the memory: two sets alternate" in said
    assert "4097 MiB of 16384 MiB" in said
