"""`metal_kernel(..., sandbox=True)`: the same kernel, in a separate process."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from time import monotonic
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from metalbench import metal_kernel, patched_mlx
from metalbench.errors import (
    CompileError,
    DeclarationError,
    DispatchError,
    KernelDied,
    KernelFault,
    TimeLimitExceeded,
)
from metalbench.finding_kinds import Kind
from metalbench.sandbox import landlock
from metalbench.sandbox.compiler_process import _Starter
from metalbench.sandbox.confinement import list_executor_files
from metalbench.sandbox.resources import list_children

AT = "uint i = thread_position_in_grid.x; "
TWICE = AT + "out[i] = 2 * a[i];"
REVERSED = (
    AT + "uint t = thread_index_in_threadgroup; threadgroup float s[64]; s[t] = a[i];"
    "threadgroup_barrier(metal::mem_flags::mem_threadgroup); out[i] = s[63 - t];"
)
X = np.arange(256, dtype=np.float32)


class Sandboxed:
    """A kernel over one array, and the numbers of the processes that it has started."""

    def __init__(self, source: str = TWICE, **options: Any) -> None:
        self._others = set(list_children(os.getpid()))
        given = {"device": "cpu", "sandbox": True, **options}
        self._kernel = metal_kernel("test", ["a"], ["out"], source, **given)

    def __call__(self, a: Any = X, **options: Any) -> Any:
        asked = {
            "inputs": [a],
            "grid": (a.size, 1, 1),
            "threadgroup": (64, 1, 1),
            "output_shapes": [a.shape],
            "output_dtypes": [a.dtype],
        }
        (out,) = self._kernel(**{**asked, **options})
        return out

    @property
    def processes(self) -> set[int]:
        return set(list_children(os.getpid())) - self._others


@pytest.mark.parametrize("source", [TWICE, REVERSED])
@pytest.mark.parametrize("checked", [False, True])
def test_sandboxed_results_agree(source: str, checked: bool) -> None:
    here = Sandboxed(source, sandbox=False, checked=checked)
    out = here()
    assert not here.processes
    there = Sandboxed(source, checked=checked)
    assert (there() == out).all()
    assert len(there.processes) == 1


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.int64, mx.uint8])
def test_a_sandboxed_kernel_accepts_every_type(dtype: mx.Dtype) -> None:
    a = mx.arange(100).astype(dtype)
    out = Sandboxed()(a)
    assert out.dtype == dtype
    assert mx.array_equal(out, 2 * a)


def test_one_process_runs_all_calls_of_a_kernel() -> None:
    """Also those for other types and shapes of threadgroups, once it has loaded them all."""
    twice = Sandboxed(REVERSED)
    shapes = [(64, 1, 1), (32, 1, 1)]
    types = [X, X.astype(np.float16)]
    for _ in range(2):
        for a in types:
            for shape in shapes:
                twice(a, threadgroup=shape)
                assert len(twice.processes) == 1
    before = twice.processes
    for a in types:
        for shape in shapes:
            twice(a, threadgroup=shape)
    assert twice.processes == before
    del twice
    gc.collect()
    assert not before & set(list_children(os.getpid()))


def test_outputs_are_the_callers_own() -> None:
    """So nothing that goes on in the process changes them."""
    twice = Sandboxed()
    first = twice()
    twice(X + 1)
    assert (first == 2 * X).all()
    assert first.flags.owndata


ERRORS = {
    "that does not compile": (CompileError, "out[i] = nonsense;", {}),
    "with a wrong argument": (DispatchError, TWICE, {"grid": (1, 1)}),
    "that goes astray": (KernelFault, AT + "out[i] = a[i + (1ul << 40)];", {}),
    "that is checked": (KernelFault, AT + "out[i] = a[i == 5 ? 256 : i];", {"checked": True}),
    "that does not end": (
        TimeLimitExceeded,
        AT + "while (a[0] == 0) out[i] += 1;",
        {"time_limit": 0.2},
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_sandboxed_errors_agree(what: str) -> None:
    kind, source, given = ERRORS[what]
    asked = {key: given[key] for key in given if key == "grid"}
    options = {key: given[key] for key in given if key != "grid"}
    said = []
    for sandbox in (False, True):
        with pytest.raises(kind) as caught:
            Sandboxed(source, sandbox=sandbox, **options)(**asked)
        # Where nothing is differs.
        said.append(
            re.sub(r"an invalid address|invalid address 0x\w+", "nothing", str(caught.value))
        )
    assert said[0] == said[1]


def test_a_process_that_dies_is_an_error_and_the_next_call_works() -> None:
    twice = Sandboxed()
    twice()
    (first,) = twice.processes
    os.kill(first, signal.SIGSEGV)
    with pytest.raises(KernelDied, match=r"^\[test\] the kernel's process .* SIGSEGV") as caught:
        twice()
    assert caught.value.kind == Kind.CRASH
    assert (twice() == 2 * X).all()
    assert first not in twice.processes


@pytest.mark.slow  # it is waited for as long as a busy machine may need
def test_a_stopped_process_is_a_hang() -> None:
    twice = Sandboxed()
    twice()
    (process,) = twice.processes
    os.kill(process, signal.SIGSTOP)
    with pytest.raises(TimeLimitExceeded, match=r"^\[test\] the kernel's process does not answer"):
        twice()
    assert (twice() == 2 * X).all()


ASTRAY = "((device float*)ulong(a[0]))[0] = 1; out[0] = 1;"


def test_a_wild_pointer_cannot_reach_memory_of_the_caller() -> None:
    secret = np.zeros(1024, np.float32)
    where = np.array([secret.ctypes.data], np.uint64)
    for sandbox in (False, True):
        secret[:] = 0
        astray = Sandboxed(ASTRAY, sandbox=sandbox)
        call: Callable[[], Any] = lambda: astray(where)  # noqa: E731, B023
        if sandbox:
            with pytest.raises(KernelFault, match="invalid address"):
                call()
        else:
            call()
        assert secret.any() != sandbox


def test_sandbox_refuses_the_mlx_device() -> None:
    with pytest.raises(DeclarationError, match=r"sandbox: MLX runs its kernels in the process"):
        Sandboxed(device="mlx")


def test_kernels_of_code_that_asks_mlx() -> None:
    others = set(list_children(os.getpid()))
    with patched_mlx(device="cpu", sandbox=True):
        kernel = mx.fast.metal_kernel("test", ["a"], ["out"], TWICE)
        (out,) = kernel(
            inputs=[mx.arange(8.0)],
            grid=(8, 1, 1),
            threadgroup=(8, 1, 1),
            output_shapes=[(8,)],
            output_dtypes=[mx.float32],
        )
        assert len(set(list_children(os.getpid())) - others) == 1
    assert mx.array_equal(out, 2 * mx.arange(8.0))


PROGRAM = """
import os, sys
import numpy as np
from metalbench import metal_kernel
from metalbench.sandbox import landlock
from metalbench.sandbox.confinement import list_executor_files
from metalbench.sandbox.compiler_process import _Starter
from metalbench.sandbox.resources import list_children
source = "out[thread_position_in_grid.x] = a[thread_position_in_grid.x];"
kernel = metal_kernel("test", ["a"], ["out"], source, device="cpu", sandbox=True)
def call():
    asked = dict(grid=(8, 1, 1), threadgroup=(8, 1, 1), output_shapes=[(8,)])
    return kernel(inputs=[np.arange(8.0)], output_dtypes=["float32"], **asked)[0]
call()
print(*list_children(os.getpid()), flush=True)
"""


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)", "raise SystemExit(3)"])
def test_the_sandbox_ends_with_its_parent_process(end: str) -> None:
    program = f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}{end}\n"
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip()
    deadline = monotonic() + 10
    while any(map(_is_running, map(int, done.stdout.split()))):
        assert monotonic() < deadline, "a process is still there"


def _is_running(number: int) -> bool:
    told = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, check=False
    )
    return told.stdout.strip()[:1] not in (b"", b"Z")


def test_a_sandboxed_kernel_can_be_freed_without_permission_to_signal() -> None:
    """Garbage is collected in any thread, also in one that confines itself to start a compiler."""
    held = [Sandboxed()]
    held[0]()
    (process,) = held[0].processes

    def forget() -> Any:
        held.clear()
        return gc.collect()

    with (
        landlock.open_ruleset(list_executor_files())
        if landlock.version()
        else nullcontext(None) as rules
    ):
        forgetting = _Starter(forget, rules)
        forgetting.start()
        forgetting.join()
    forgetting.wait_for_start()
    Sandboxed()()
    assert process not in list_children(os.getpid())


def test_the_process_of_a_sandboxed_kernel_survives_ctrl_c() -> None:
    """Both are of one group, which a terminal interrupts."""
    twice = Sandboxed()
    twice()
    (process,) = twice.processes
    os.kill(process, signal.SIGINT)
    assert (twice() == 2 * X).all()
    assert twice.processes == {process}
