"""SIMD-groups as vectors of NEON: the same bits in an emulator as elsewhere, and no step by lanes.

All of it is slow; what runs kernels needs `apt install qemu-user`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from arm64.emulated import (
    QEMU,
    arguments_of,
    buffers_of,
    compiled,
    kernel,
    program_of,
    run,
)
from generated.launch import inputs_of, outputs_of
from generated.model import expected
from generated.random_programs import random_program
from generated.text import source

from metalbench import _core
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Bound, Compiled, compile_kernel
from metalbench.msl import engine
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.task.workload import workload

pytestmark = pytest.mark.slow
emulated = pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64: apt install qemu-user")
LIBRARY = {entry.name: entry for entry in Library()}
TEN = (
    *("softmax", "layer_norm", "argmax", "cumsum", "sqr_mm", "transpose_2d", "top_k"),
    *("logsumexp", "group_norm", "rms_norm"),
)
# Prefix sums of floats are added up in another order on fibers.
HERE = {"cumsum": "vectors"}
# What LLVM makes of an access with a mask where there is no instruction for it: for every lane a
# branch by one bit.
_BRANCH_BY_BIT = re.compile(r"\ttbn?z\tw\d+, #(\d+),")
_MOST_BITS = 8


@emulated
@pytest.mark.parametrize("seed", range(10))
def test_generated_kernels_agree_with_the_model(seed, tmp_path):
    program = random_program(seed)
    parsed = engine.parse(source(program), "generated.metal")
    own = kernel(parsed, "generated", tmp_path, fast_math=False)
    arrays = {name: np.asarray(each) for name, each in inputs_of(program).items()}
    found = run(own, arrays | outputs_of(program), program.threads, program.grid)
    for name, want in expected(program).items():
        got = found[name]
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        assert same.all(), (name, np.argmin(same))


@emulated
@pytest.mark.parametrize("name", TEN)
def test_library_kernels_give_the_same_bits_as_fibers_on_the_host(name, tmp_path, monkeypatch):
    monkeypatch.setenv(engine.ENGINE_VARIABLE, HERE.get(name, "fibers"))
    entry, device = LIBRARY[name], _core.open("cpu")
    compiled_here = compile_kernel(device, entry.kernel(), entry.task)
    bound = compiled_here.bind(workload(entry.task, "odd1"))
    bound.poison()
    before = buffers_of(bound)
    device.run(bound.dispatches)
    found = _in_emulator(compiled_here, bound, before, tmp_path)
    after = buffers_of(bound)
    assert any((after[each] != before[each]).any() for each in bound.outputs)
    for each in bound.outputs:
        np.testing.assert_array_equal(found[each], after[each], err_msg=each)


def _in_emulator(
    here: Compiled, bound: Bound, buffers: dict[str, np.ndarray], folder
) -> dict[str, np.ndarray]:
    """Return the results of the same dispatches in the emulator."""
    program = program_of(here.kernel)
    for each, dispatch in zip(bound.geometry, bound.dispatches, strict=True):
        fast_math = here.kernel.math == "fast"
        own = kernel(program, each.function, folder, fast_math=fast_math)
        assert own.lowered.needs_fibers or len(bound.geometry) > 1
        given = arguments_of(here, bound, each.function, buffers)
        size = (dispatch.threads, dispatch.threads_in_grid, each.threadgroup_bytes)
        buffers = buffers | run(own, given, *size)
    return buffers


@pytest.mark.parametrize("entry", LIBRARY.values(), ids=LIBRARY)
def test_masked_code_is_not_serialized(entry, tmp_path):
    for name, assembly, module in _assemblies(entry, tmp_path):
        assert "llvm.masked" not in module, name
        for function in assembly.split("\t.cfi_startproc")[1:]:
            bits = {int(each) for each in _BRANCH_BY_BIT.findall(function)}
            assert len(bits) < _MOST_BITS, (name, sorted(bits))


def _assemblies(entry: Entry, folder) -> Iterator[tuple[str, str, str]]:
    """Yield the machine code and the IR of all lanes of every synchronising kernel."""
    program = program_of(entry.kernel())
    for function in program.functions:
        own = kernel(program, function, folder, fast_math=entry.kernel().math == "fast")
        if not own.lowered.needs_fibers:
            continue
        for launch in (LaunchShape(32, rows=True), LaunchShape(32, rows=False)):
            module, target = own.module(launch), folder / "kernel.s"
            compiled(own, module, target, "-S")
            yield function, target.read_text(), module
