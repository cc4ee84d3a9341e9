"""Kernels for macOS do on an emulated arm64 what they do here, from their Mach-O form.

All of it is slow, and needs `apt install qemu-user`. What a loader of ours cannot show is in
the Limits of README.md: dyld, code signing, the hardened runtime, sandbox-exec.
"""

from __future__ import annotations

import numpy as np
import pytest
from arm64.emulated import QEMU, arguments_of, buffers_of, program_of
from mac.macos import building_for_macos, execute

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.msl import engine
from metalbench.msl.toolchain.clang import TOOLS
from metalbench.task.workload import workload
from metalbench.verify.examine import Examiner
from metalbench.verify.flow import TIME_LIMIT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(QEMU is None, reason="needs qemu-aarch64: apt install qemu-user"),
]
LIBRARY = {entry.name: entry for entry in Library()}
ENGINES = {
    "relu": "loops",
    "softmax": "vectors",
    "sqr_mm": "vectors",
    "cumsum": "vectors",
    "layer_norm": "vectors",
    "argmax": "vectors",
    "rms_norm": "vectors",
    "conv_transpose3d_norm_pool_gelu": "vectors",
}
UNCHECKED = """#include <metal_stdlib>
using namespace metal;

kernel void f(device const float* x, device float* y, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[32];
  float v;
  if (i > 40) v = 1;
  shared[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = shared[31 - t];
  if (i == 63) {
    y[i] +=
        x[i + 2];
  }
  if (i == 3) {
    if (v > 0) y[0] = 0;
  }
}
"""


@pytest.mark.parametrize("name", ENGINES)
def test_kernels_of_the_library_are_right(name, tmp_path):
    entry, device = LIBRARY[name], _core.open("cpu")
    here = compile_kernel(device, entry.kernel(), entry.task)
    bound = here.bind(workload(entry.task, "odd1"))
    bound.poison()
    buffers = buffers_of(bound)
    device.run(bound.dispatches)
    for each, dispatch in zip(bound.geometry, bound.dispatches, strict=True):
        with building_for_macos(tmp_path / "cache"):
            built = engine.build(program_of(entry.kernel()), each.function)
            assert (built.engine, built.reason.startswith("error")) == (ENGINES[name], False)
            given = arguments_of(here, bound, each.function, buffers)
            size = (dispatch.threads, dispatch.threads_in_grid)
            found, said = execute(built, given, *size, tmp_path, each.threadgroup_bytes)
        assert said == []
        buffers |= found
    for key, output in bound.outputs.items():
        output.bytes[:] = buffers[key].view(np.uint8).reshape(-1)
    assert not Examiner(bound, device, TIME_LIMIT).judge_last_run().findings


@pytest.mark.parametrize("tools", [(), ("mem",), ("init",), TOOLS])
def test_a_checked_build_reports_the_lines_of_its_findings(tools, tmp_path):
    arrays = {"x": np.arange(64, dtype=np.float32), "y": np.zeros(64, np.float32)}
    with building_for_macos(tmp_path / "cache"):
        built = engine.build(engine.parse(UNCHECKED, "k.metal"), "f", checked=True, tools=tools)
        found, findings = execute(built, arrays, (32, 1, 1), (64, 1, 1), tmp_path)
    assert ("bounds", 14) in findings
    assert (("uninitialised", 17) in findings) == ("init" in tools)
    assert len(findings) == 1 + ("init" in tools)
    want = arrays["x"].reshape(2, 32)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(found["y"][1:63], want[1:63])
