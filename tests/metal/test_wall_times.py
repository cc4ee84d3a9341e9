"""A window ends when the end on the GPU is known, not when it is requested."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

SOURCE = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
HELD_S = 0.1


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch):
    """Return the delays of the waiting thread by a signal handler."""
    lasted: list[float] = []

    def hold(*_: object) -> None:
        begun = time.perf_counter()
        while time.perf_counter() - begun < HELD_S:
            pass
        lasted.append(time.perf_counter() - begun)
        signal.setitimer(signal.ITIMER_REAL, 0.001)

    before = signal.signal(signal.SIGALRM, hold)
    yield lasted
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_delays_of_the_waiting_thread_do_not_count(metal, held) -> None:
    pipeline = metal.compile(SOURCE).pipeline()
    arguments = {"x": np.zeros(32, np.float32)}
    add = _core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)
    plan = {"max_pairs": 48, "candidate_window": 1000, "warmup_ns": 0, "time_limit_ns": 60e9}
    held_up = 0
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while len(held) < 4:
        samples = metal.sample([add], **plan)
        held_up += (samples.wall_ns * samples.candidate_window > 1e9 * HELD_S).sum()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert held_up < len(held) / 2
