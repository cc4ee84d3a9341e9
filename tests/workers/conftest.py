"""Tasks that each do something else to the process that they run in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from steady_path import tmp_path

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.measure.measurement import Plan
from metalbench.run import runner
from metalbench.run.trial import Silent, Trial
from metalbench.sandbox.resources import Limits
from metalbench.store.environment import environment
from metalbench.store.result import Result
from metalbench.store.store import Store
from metalbench.workers.pool import Workers

__all__ = ["tmp_path"]

TASK = '''
"""Twice the input."""

import ctypes, os, signal, socket, subprocess, sys
import mlx.core as mx
import numpy as np
from metalbench.task import normal, output, task

def misbehave():
    BEHAVIOUR

@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=77)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: (misbehave(), 2 * x)[1],
    flops="n",
    baseline="x + x",
    headline="small",
)
def NAME(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""
HOARD = "hoard = []\n    while True: hoard.append(np.ones(2**22))"
BEHAVIOURS = {
    "good": "pass",
    "touches_null": "ctypes.string_at(0)",
    "overflows_its_stack": (
        "sys.setrecursionlimit(10**9)\n    f = lambda n: sorted([n], key=f)\n    f(0)"
    ),
    "aborts": "os.abort()",
    "exits": "print('too late', flush=True); os._exit(3)",
    "exits_well": "os._exit(0)",
    "leaves_a_child": "subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "writes_elsewhere": "open(os.environ['TEST_FILE'], 'w').write('was here')",
    "writes_to_its_folder": "open(os.environ['TMPDIR'] + '/x', 'w').write('was here')",
    "signals_the_run": "os.kill(os.getppid(), 0)",
    "reads_the_run": "open(f'/proc/{os.getppid()}/mem', 'rb').read(0)",
    "reads_a_secret": "assert 'TEST_TOKEN' not in open('/proc/self/environ').read()",
    "is_killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "hangs": "while True: pass",
    "hoards": HOARD,
    "hoards_in_a_child": (
        "subprocess.run([sys.executable, '-c', "
        "'h = []\\nwhile True: h.append(bytearray(2**25)); h[-1][::4096] = bytes(2**13)'])"
    ),
    "raises": "raise ValueError('no such luck')",
    "prints": "print('so far so good')",
    "leaves_a_mark": "os.environ['MARK'] = 'left'; np.sin = None",
    "finds_no_mark": "assert 'MARK' not in os.environ and np.sin is not None",
    "phones": "socket.create_connection(('127.0.0.1', int(os.environ['TEST_PORT'])), 5)",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks with kernels, called as what they do."""
    folder = tmp_path_factory.mktemp("kernels")
    for name, behaviour in BEHAVIOURS.items():
        text = TASK.replace("BEHAVIOUR", behaviour).replace("NAME", name)
        (folder / f"{name}.py").write_text(text)
        (folder / f"{name}.metal").write_text(KERNEL)
    return folder


class Runs:
    """Run kernels of the folder in separate processes."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._library = Library([folder])
        self.store = store

    def __call__(self, *names: str, limits: Limits | None = None) -> list[Result]:
        device = _core.open("cpu")
        entries = [self._library.entry(name) for name in names]
        plan = Plan(seconds=0.01)
        trials = [Trial(each, each.kernel(), "float32", plan=plan) for each in entries]
        with Workers("cpu", limits or Limits()) as workers:
            outcome = runner.run(
                device,
                trials,
                self.store,
                environment(),
                Silent(),
                recorded_options={},
                attempts=workers,
            )
        assert outcome.ended == "finished"
        return list(outcome.results)


@pytest.fixture
def runs(folder: Path, tmp_path: Path) -> Iterator[Runs]:
    with Store(tmp_path / "results.db") as store:
        yield Runs(folder, store)
