"""Pairs of predicted and measured times, from stored results."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.errors import CompileError, Unsupported
from metalbench.kernel.library import find
from metalbench.profiling import calibration_records
from metalbench.profiling.calibration_records import choose_results, find_chip_name, make_records
from metalbench.stats import Interval


@dataclass
class Stored:
    """The fields of a HistoryEntry that pairs are made of."""

    source_hash: str
    device_kind: str = "metal"
    device_name: str = "Apple M2 Pro"
    device_cores: int = 16
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
    assert list(choose_results(results, lambda _: "a")) == [latest]


def test_make_records_has_times_and_work_but_no_names() -> None:
    (entry,) = find(["relu"], None, ())
    results: list[Any] = [Stored(entry.kernel().hash)]
    (pair,) = make_records(entry, results, pytest.fail)
    assert pair.record()["cores"] == 16
    assert pair.measured_s == pytest.approx(9e-6)
    assert pair.predicted_s > 0
    assert pair.dispatches[0]["device_lines"] > 0
    assert "relu" not in json.dumps(pair.record())


def test_make_records_predicts_with_the_devices_cores() -> None:
    (entry,) = find(["relu"], None, ())
    source = entry.kernel().hash
    results: list[Any] = [
        Stored(source, device_name="Apple M3 Max", device_cores=cores) for cores in (30, 40, 0)
    ]
    fewer, all_, unknown = make_records(entry, results, pytest.fail)
    assert fewer.predicted_s > all_.predicted_s == unknown.predicted_s


def test_make_records_says_why_it_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Unsupported("relu: textures")

    monkeypatch.setattr(calibration_records, "measure_kernel", refuse)
    (entry,) = find(["relu"], None, ())
    results: list[Any] = [Stored(entry.kernel().hash)]
    reasons: list[str] = []
    assert not list(make_records(entry, results, reasons.append))
    assert reasons == ["relu: textures"]


def test_make_records_lets_other_faults_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CompileError("relu: no such type")

    monkeypatch.setattr(calibration_records, "measure_kernel", fail)
    (entry,) = find(["relu"], None, ())
    results: list[Any] = [Stored(entry.kernel().hash)]
    with pytest.raises(CompileError):
        list(make_records(entry, results, pytest.fail))


def test_calibrate_needs_results_of_a_mac(tmp_path) -> None:
    path = tmp_path / "pairs.json"
    said = CliRunner().invoke(main, ["calibrate", str(path), "--db", str(tmp_path / "results.db")])
    assert said.exit_code == 2
    assert "no result of a Mac's GPU" in said.output
    assert not path.exists()
