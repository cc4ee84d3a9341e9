"""Runs of checked builds that go on after what they find."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import DispatchError, KernelFault

SOURCE = """
kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i + 1];
  y[i + 1] = 0;
}
kernel void second(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] += x[i - 1];
}
"""
N = 64


@pytest.fixture
def cpu():
    return _core.open("cpu")


def dispatch_of(device, name="k", *, threads=N):
    library = device.compile(SOURCE, filename="k.metal", checked=True)
    # Allocated by the device: the memory after them is unused, and the threads go on.
    x, y = device.allocate(4 * N), device.allocate(4 * N)
    return _core.Dispatch(
        library.pipeline(name), {"x": x, "y": y}, threads_in_grid=threads, threads=32
    )


def lines(findings):
    return {(each.kernel, each.rule, each.frames[0].line) for each in findings}


def test_a_checked_run_runs_all_dispatches_and_reports_all_findings(cpu):
    found = cpu.check([dispatch_of(cpu), dispatch_of(cpu, "second")])
    assert ("k", "out-of-bounds", 3) in lines(found)
    assert ("k", "out-of-bounds", 4) in lines(found)
    assert ("second", "wild-pointer", 7) in lines(found)


def test_a_thread_ends_at_an_access_to_possibly_foreign_memory(cpu):
    library = cpu.compile(SOURCE, checked=True)
    x, y = np.zeros(N, np.float32), np.zeros(N, np.float32)
    dispatch = _core.Dispatch(
        library.pipeline("k"), {"x": x, "y": y}, threads_in_grid=N, threads=32
    )
    errors = [each for each in cpu.check([dispatch]) if each.rule == "out-of-bounds"]
    assert [(each.frames[0].line, each.count) for each in errors] == [(3, 1)]


def test_a_plain_run_ends_with_the_first_fault(cpu):
    dispatch = dispatch_of(cpu)
    assert cpu.check([dispatch])
    with pytest.raises(KernelFault, match=r"k.metal:\d: "):
        cpu.run([dispatch])


def test_a_correct_kernel_has_no_findings(cpu):
    source = SOURCE.replace("i + 1", "i")
    library = cpu.compile(source, checked=True)
    y = np.ones(N, np.float32)
    dispatch = _core.Dispatch(
        library.pipeline("k"), {"x": y.copy(), "y": y}, threads_in_grid=N, threads=32
    )
    assert cpu.check([dispatch]) == []
    assert (y == 0).all()


def test_a_checked_run_reports_writes_to_inputs_of_any_type(cpu):
    dispatch = dispatch_of(cpu)
    found = cpu.check([dispatch], inputs=["y"])
    assert {"write-to-input"} < {each.rule for each in found}
    counts = {(each.rule, each.frames[0].line): each.count for each in found}
    assert counts["write-to-input", 3] == N


def test_check_refuses_an_invalid_time_limit(cpu):
    with pytest.raises(DispatchError, match="time_limit"):
        cpu.check([dispatch_of(cpu)], time_limit=0)
