"""The limits of a device for the roofline of a page: published, measured, or the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from example_results import CPU, GPU

from metalbench import _core
from metalbench.cli.machine import find_device_peaks
from metalbench.errors import MachineError
from metalbench.measure import device_limits
from metalbench.measure.device_limits import Peaks
from metalbench.run.trial import device_facts


@pytest.mark.parametrize(
    ("chip", "cores", "gflops", "gbytes_per_s", "source"),
    [
        ("m2", 10, 3600.0, 100.0, "published: Apple, June 2022"),
        ("m2", 8, 2880.0, 100.0, "published: Apple, June 2022"),
        # None is published of an M4.
        ("m4", 10, 3600.0, 120.0, "arithmetic estimated from the cores of an M2"),
    ],
)
def test_the_limits_of_a_known_chip_are_published(
    chip: str, cores: int, gflops: float, gbytes_per_s: float, source: str
) -> None:
    peaks, why = find_device_peaks(replace(GPU, chip=chip, cores=cores), {"float32"})
    assert peaks is not None
    assert (peaks.gflops, peaks.gbytes_per_s) == (pytest.approx(gflops), gbytes_per_s)
    assert source in peaks.source
    assert why == ""


def test_the_limits_of_this_machine_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    here = device_facts(_core.open("cpu"))
    asked = []

    def measure(device: object, *, with_halves: bool, again: bool = True) -> Peaks:
        asked.append(with_halves)
        return Peaks(1.0, 2.0, "here")

    monkeypatch.setattr(device_limits, "measure_peaks", measure)
    assert find_device_peaks(here, {"float32"}) == (Peaks(1.0, 2.0, "here"), "")
    find_device_peaks(here, {"float32", "float16"})
    assert asked == [False, True]

    def fail(device: object, *, with_halves: bool, again: bool = True) -> Peaks:
        raise MachineError("the disk is full")

    monkeypatch.setattr(device_limits, "measure_peaks", fail)
    peaks, why = find_device_peaks(here, {"float32"})
    assert peaks is None
    assert why.endswith("cannot be measured here: the disk is full")


@pytest.mark.parametrize("facts", [CPU, replace(CPU, kind="tpu")])
def test_the_limits_of_another_machine_are_not_measured(facts: object) -> None:
    peaks, why = find_device_peaks(facts, {"float32"})  # type: ignore[arg-type]
    assert peaks is None
    assert "only on its own machine" in why
