"""GPU traces: where they are left, and why they may not be."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

SOURCE = "kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 7; }"
# A Mac may capture only where the environment of the tests says so.
pytestmark = [pytest.mark.metal, pytest.mark.usefixtures("metal_double")]


@pytest.fixture
def x():
    return np.zeros(32, np.float32)


@pytest.fixture
def fill(metal, x):
    pipeline = metal.compile(SOURCE).pipeline()
    return _core.Dispatch(pipeline, {"x": x}, threads_in_grid=32, threads=32)


def test_a_trace_is_left_and_the_window_has_run(metal, fill, x, tmp_path):
    metal.capture([fill], str(tmp_path / "fill.gputrace"), passes=3)
    assert (tmp_path / "fill.gputrace").exists()
    assert (x == 7).all()


def test_capture_without_permission_names_the_variable(metal, fill, metal_double, tmp_path):
    metal_double.set("no_capture")
    with pytest.raises(_core.Unsupported, match="MTL_CAPTURE_ENABLED=1"):
        metal.capture([fill], str(tmp_path / "fill.gputrace"))
    assert not list(tmp_path.iterdir())
    metal.run([fill])


def test_capture_reports_an_error_of_metal(metal, fill, metal_double, tmp_path):
    metal_double.set("fail_capture")
    with pytest.raises(_core.Error, match=r"cannot capture to .*fill\.gputrace: ."):
        metal.capture([fill], str(tmp_path / "fill.gputrace"))
    metal.capture([fill], str(tmp_path / "fill.gputrace"))


def test_capture_reports_a_missing_trace(metal, fill, x, metal_double, tmp_path):
    metal_double.set("lose_capture")
    with pytest.raises(_core.Error, match=r"left no GPU trace at .*folder must exist"):
        metal.capture([fill], str(tmp_path / "lost.gputrace"))
    assert (x == 7).all()
    metal.capture([fill], str(tmp_path / "fill.gputrace"))


def test_an_older_trace_is_not_overwritten(metal, fill, tmp_path):
    (tmp_path / "fill.gputrace").write_text("older")
    with pytest.raises(_core.Error, match="exists already"):
        metal.capture([fill], str(tmp_path / "fill.gputrace"))
    assert (tmp_path / "fill.gputrace").read_text() == "older"


@pytest.mark.parametrize(
    ("what", "value", "error"),
    [
        ("fail_command_buffer", 3, _core.KernelFault),
        ("hang_command_buffer", 1, _core.TimeLimitExceeded),
        ("zero_gpu_time", 1, _core.Error),
    ],
)
def test_a_failed_window_ends_the_capture(metal, fill, metal_double, tmp_path, what, value, error):
    metal_double.set(what, value)
    with pytest.raises(error, match=r"\[fill\]"):
        metal.capture([fill], str(tmp_path / "first.gputrace"), time_limit=0.2)
    metal_double.reset()
    metal.capture([fill], str(tmp_path / "second.gputrace"))
