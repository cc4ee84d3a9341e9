"""A kernel that writes to where its judge keeps what is right: it is not there."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run.attempt import attempt
from metalbench.run.trial import Silent, Trial, device_facts
from metalbench.sandbox.resources import Limits
from metalbench.store.result import Status
from metalbench.verify import Kind
from metalbench.workers.pool import Workers

WHERE = 0x600000000000
# The oracle's factor lies at an address that kernels know.
TASK = '''
"""Twice the input."""

import ctypes, mmap
import numpy as np
from metalbench.task import normal, output, task

WHERE, FIXED = 0x600000000000, 0x10
system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED
protection = mmap.PROT_READ | mmap.PROT_WRITE
place = system.mmap(ctypes.c_void_p(WHERE), ctypes.c_size_t(4096), protection, flags, -1,
                    ctypes.c_long(0))
assert place == WHERE
factor = np.frombuffer((ctypes.c_double * 1).from_address(WHERE))
factor.flags.writeable = True
factor[0] = 2.0

@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=77)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: factor[0] * x,
    flops="n",
    baseline="x + x",
    headline="small",
)
def astray(x):
    return x + x
'''
KERNEL = """// Nothing, and makes that right.
// dispatch: astray threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void astray(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  device ulong* factor = (device ulong*)0x600000000000ul;
  *factor = 0;
  y[i] = 0 * x[i];
}
"""


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    (tmp_path / "astray.py").write_text(TASK)
    (tmp_path / "astray.metal").write_text(KERNEL)
    entry = Library([tmp_path]).entry("astray")
    return Trial(entry, entry.kernel(), "float32", plan=Plan(seconds=0.01))


@pytest.mark.skipif(sys.platform != "linux", reason="where addresses are free differs")
def test_a_wild_pointer_cannot_change_the_verdict(trial: Trial) -> None:
    device = _core.open("cpu")
    with Workers("cpu", Limits()) as workers:
        result = workers.attempt(device_facts(device), trial, (), Silent())
    (failure, *_) = result.failures
    assert result.status is not Status.CORRECT
    assert failure.kind == Kind.FAULT
    assert "astray.metal:7: access to invalid address 0x600000000000" in failure.message


@pytest.mark.skipif(sys.platform != "linux", reason="where addresses are free differs")
def test_a_wild_pointer_in_one_process_reaches_the_oracle(trial: Trial) -> None:
    attempt(_core.open("cpu"), trial, Silent())
    assert ctypes.c_double.from_address(WHERE).value == 0
