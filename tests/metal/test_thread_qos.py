"""The QoS of the measuring thread, and its restoration."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]

SOURCE = "kernel void add(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
# qos_class_t
USER_INTERACTIVE, DEFAULT = 0x21, 0x15
PAGE_FAULT = 3


@pytest.fixture
def asked(metal_double):
    """The calling thread's class, and how many activities keep the Mac awake."""
    return lambda: (metal_double.get("qos_class"), metal_double.get("wakeful_activities"))


def sample(metal: _core.Device, progress):
    pipeline = metal.compile(SOURCE).pipeline()
    arguments = {"x": np.zeros(32, np.float32)}
    add = _core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)
    return metal.sample(
        [add], max_pairs=8, warmup_ns=0, window_ns=1e5, time_limit_ns=60e9, progress=progress
    )


def test_a_plan_raises_the_qos_and_prevents_sleep(metal, asked) -> None:
    seen = []
    sample(metal, lambda *_: seen.append(asked()))
    assert set(seen) == {(USER_INTERACTIVE, 1)}
    assert asked() == (DEFAULT, 0)


def test_a_failed_plan_restores_the_qos(metal, asked, metal_double) -> None:
    sample(metal, lambda *_: None)
    with pytest.raises(_core.KernelFault):
        sample(metal, lambda *_: metal_double.set("fail_command_buffer", PAGE_FAULT))
    assert asked() == (DEFAULT, 0)


def test_untimed_runs_keep_the_qos(metal, asked) -> None:
    before = asked()
    pipeline = metal.compile(SOURCE).pipeline()
    arguments = {"x": np.zeros(32, np.float32)}
    metal.run([_core.Dispatch(pipeline, arguments, threads_in_grid=32, threads=32)])
    assert asked() == before


def test_a_thread_can_request_the_qos_of_a_plan(metal, asked) -> None:
    with metal.thread_qos():
        assert asked() == (USER_INTERACTIVE, 1)
    assert asked() == (DEFAULT, 0)
    with pytest.raises(ZeroDivisionError), metal.thread_qos():
        1 / 0  # noqa: B018
    assert asked() == (DEFAULT, 0)
