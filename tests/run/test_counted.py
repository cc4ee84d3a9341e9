"""Counted bytes of a kernel that was timed alone, in addition to the declared ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
from example_results import correct

from metalbench.cli.run import with_counts
from metalbench.errors import MetalBenchError
from metalbench.kernel.library import Library
from metalbench.run import single_pass
from metalbench.run.runner import Outcome
from metalbench.run.trial import Trial
from metalbench.store.result import CountedBytes, DeviceFacts

TASK = '''
"""The sum of each element and the next one."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=100), seed=dict(n=1 << 14)),
    inputs=dict(x=normal("n + 1")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x[1:] + x[:-1],
    flops="n",
)
def sums(x):
    return x[1:] + x[:-1]
'''
KERNEL = """// dispatch: sums threads_in_grid=(n) threads=(256)
#include <metal_stdlib>
using namespace metal;
kernel void sums(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i] + x[i + 1];
}
"""

CPU = DeviceFacts("cpu", "a processor", None, 2)


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "sums.py").write_text(TASK)
    (tmp_path / "sums.metal").write_text(KERNEL)
    entry = Library([tmp_path]).entry("sums")
    return Trial(entry, entry.kernel(), "float32")


def at(n, size, *, timed):
    return CountedBytes(
        size, timed, 2 * 4 * n, 4 * n, 4 * (n + 1), 4 * n, declared=4 * (n + 1) + 4 * n
    )


def test_count_bytes_counts_fast_kernels_at_the_timed_size(trial, monkeypatch):
    monkeypatch.setattr(single_pass, "LONGEST_S", 60.0)
    found = single_pass.count_bytes(trial, CPU)
    assert found == at(1 << 14, "seed", timed=True)
    assert found.ratio == pytest.approx(1.5, rel=1e-4)

    def no_more(*_, **__):
        raise AssertionError("it is kept")

    monkeypatch.setattr(single_pass, "compile_kernel", no_more)
    assert single_pass.count_bytes(trial, CPU) == found


def test_count_bytes_counts_slow_kernels_at_a_small_size(trial, monkeypatch):
    monkeypatch.setattr(single_pass, "LONGEST_S", 0.0)
    assert single_pass.count_bytes(trial, CPU) == at(100, "small", timed=False)
    assert single_pass.count_bytes(replace(trial, size="n=7"), CPU) == at(100, "small", timed=False)


def test_count_bytes_raises_for_a_kernel_that_does_not_compile(trial, capsys):
    broken = replace(trial.kernel, source=KERNEL.replace("x[i + 1]", "z[i]"))
    trial = replace(trial, kernel=broken)
    with pytest.raises(MetalBenchError, match="use of undeclared identifier 'z'"):
        single_pass.count_bytes(trial, CPU)
    outcome = Outcome((correct("sums"),), "finished")
    assert with_counts(outcome, [trial]) is outcome
    printed = capsys.readouterr().err
    assert "bytes of one pass could not be counted" in printed
    assert "use of undeclared identifier 'z'" in printed


def test_many_kernels_are_not_counted(trial):
    outcome = Outcome((), "finished")
    assert with_counts(outcome, [trial, trial]) is outcome
    assert with_counts(outcome, [trial]) is outcome
