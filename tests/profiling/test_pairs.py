"""Pairs of predicted and measured times, from stored results."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.kernel.library import find
from metalbench.profiling.pairs import choose_results, find_chip_name, make_pairs
from metalbench.stats import Interval


@dataclass
class Stored:
    """The fields of a HistoryEntry that pairs are made of."""

    source_hash: str
    device_kind: str = "metal"
    device_name: str = "Apple M2 Pro"
    size: str = "small"
    dtype: str = "float32"
    status: str = "correct"
    kernel_ns: Interval | None = field(default_factory=lambda: Interval(9000.0, 8900.0, 9100.0))
    tunables: dict[str, int] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("device", "name"), [("Apple M1", "m1"), ("Apple M4 Max", "m4_max"), ("AMD EPYC", "")]
)
def test_find_chip_name(device: str, name: str) -> None:
    assert find_chip_name(device) == name


def test_choose_results_takes_the_latest_of_a_mac() -> None:
    latest, older = Stored("a"), Stored("a")
    others: list[Any] = [
        Stored("a", device_kind="cpu"),
        Stored("b", size="large"),
        Stored("a", size="large", status="incorrect"),
        Stored("a", size="large", kernel_ns=None),
        Stored("a", size="large", device_name="Apple A17"),
    ]
    results: list[Any] = [*others, latest, older]
    assert list(choose_results(results, "a")) == [latest]


def test_make_pairs_has_times_and_work_but_no_names() -> None:
    (entry,) = find(["relu"], None, ())
    results: list[Any] = [Stored(entry.kernel().hash)]
    (pair,) = make_pairs(entry, results)
    assert pair.measured_s == pytest.approx(9e-6)
    assert pair.predicted_s > 0
    assert pair.dispatches[0]["device_lines"] > 0
    assert "relu" not in json.dumps(pair.record())


def test_calibrate_needs_results_of_a_mac(tmp_path) -> None:
    path = tmp_path / "pairs.json"
    said = CliRunner().invoke(main, ["calibrate", str(path), "--db", str(tmp_path / "results.db")])
    assert said.exit_code == 2
    assert "no result of a Mac's GPU" in said.output
    assert not path.exists()
