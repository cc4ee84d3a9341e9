"""The probe of the clock: how long it is, and that it does what it says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from metalbench import _core
from metalbench.measure import device_limits
from metalbench.measure.measurement import probe_spread


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_limits, "_steps_of", {})


def scripted(launch_ns: float, step_ns: float, told: list[int]) -> SimpleNamespace:
    def run(steps: int) -> float:
        told.append(steps)
        return launch_ns + step_ns * steps

    library = SimpleNamespace(pipeline=lambda name: name)
    found = {"kind": "metal", "name": "scripted", "cores": 8}
    return SimpleNamespace(**found, compile=lambda *_, **__: library, run=run)


@pytest.mark.parametrize(("launch_ns", "step_ns"), [(0.0, 4.0), (5e4, 4.0), (1e3, 0.5)])
def test_the_probe_takes_a_tenth_of_a_millisecond(
    launch_ns: float, step_ns: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        device_limits, "_dispatches", lambda device, pipeline, steps, threadgroups=1: steps
    )
    told: list[int] = []
    device = scripted(launch_ns, step_ns, told)
    assert device_limits.create_probe(device) * step_ns == pytest.approx(1e5)
    # Once per device.
    told.clear()
    assert device_limits.create_probe(device) * step_ns == pytest.approx(1e5)
    assert told == []


def test_the_parallel_probe_takes_the_length_asked_on_all_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threadgroups_of = []

    def dispatches(device, pipeline, steps, threadgroups=1):
        threadgroups_of.append(threadgroups)
        return steps

    monkeypatch.setattr(device_limits, "_dispatches", dispatches)
    device = scripted(1e3, 4.0, [])
    assert device_limits.create_parallel_probe(device, 3e6) * 4.0 == pytest.approx(3e6)
    assert min(threadgroups_of) >= 8


def test_the_probe_runs_its_chain_in_every_lane() -> None:
    device = _core.open("cpu")
    library = device.compile(
        device_limits.PROBE_SOURCE.read_text(), filename=str(device_limits.PROBE_SOURCE)
    )
    end = device.allocate(4 * device_limits.PROBE_LANES)
    values = {"end": end, "steps": 2}
    pipeline = library.pipeline("probe")
    device.run(
        [_core.Dispatch(pipeline, values, threads=device_limits.PROBE_LANES, threadgroups=1)]
    )
    expected = np.arange(device_limits.PROBE_LANES, dtype=np.float64)
    for _ in range(2):
        for scale, offset in ((0.999, 0.5), (0.998, 0.25), (0.997, 0.125), (0.996, 0.0625)):
            expected = expected * scale + offset
    np.testing.assert_allclose(end.numpy("float32"), expected, rtol=1e-6)


@pytest.mark.parametrize(("size", "threadgroups"), [(4096, 1), (1 << 20, 4), (1 << 16, 1 << 20)])
def test_the_memory_probe_reads_every_word_once(size: int, threadgroups: int) -> None:
    device, buffers = _core.open("cpu"), []

    def allocate(size: int) -> _core.Buffer:
        buffers.append(device.allocate(size))
        return buffers[-1]

    recorder = SimpleNamespace(kind="cpu", cores=4, allocate=allocate, compile=device.compile)
    (dispatch,) = device_limits.create_memory_probe(recorder, size, threadgroups)
    device.run([dispatch])
    groups = dispatch.threadgroups[0]
    assert groups <= threadgroups
    _, end = (each.numpy("float32") for each in buffers)
    # The words are all one, so that each sum is the number of words that its threadgroup read.
    assert end.tolist() == [size // 4 // groups] * groups


def test_the_probe_can_be_sampled_with_a_kernel() -> None:
    device = _core.open("cpu")
    dispatches = device_limits.create_probe(device)
    samples = device.sample(
        dispatches, probe=dispatches, max_pairs=3, warmup_ns=0, window_ns=1e4, probe_drop=0.0
    )
    assert samples.probe_ns.size >= 2
    assert samples.best_probe_ns == samples.probe_ns.min()


def test_its_spread_is_how_much_longer_the_slowest_twentieth_took() -> None:
    assert probe_spread(np.array([])) is None
    assert probe_spread(np.full(9, 1e5)) == 0.0
    assert probe_spread(np.array([1e5] * 10 + [1.3e5] * 10)) == pytest.approx(0.3)
