"""A kernel in an executor cannot write to a buffer that it takes as `const`, even for a moment."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import KernelFault
from metalbench.finding_kinds import Kind
from metalbench.verify import report

N = 5000
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
SIGNATURE = "kernel void k(SPACE float* x, device float* y, uint i [[thread_position_in_grid]]) {\n"
# By how each gets at its input; all but the last put back what was there. Without `volatile` some
# would be compiled to no store at all.
WRITES = {
    "a cast of C": "device float* w = (device float*)x; float v = w[i];"
    " w[i] = 2 * v; y[i] = w[i]; w[i] = v;",
    "a const_cast": "device float* w = const_cast<device float*>(x); float v = w[i];"
    " w[i] = 2 * v; y[i] = w[i]; w[i] = v;",
    "another type": "volatile device uint* w = (volatile device uint*)x; uint v = w[i];"
    " w[i] = as_type<uint>(2 * as_type<float>(v)); y[i] = as_type<float>(w[i]); w[i] = v;",
    "the same value": "float v = x[i]; *(volatile device float*)(x + i) = v; y[i] = 2 * v;",
    "atomics": "device atomic_uint* w = (device atomic_uint*)(x + i);"
    " uint v = atomic_exchange_explicit(w, 0u, memory_order_relaxed);"
    " atomic_store_explicit(w, v, memory_order_relaxed); y[i] = 2 * as_type<float>(v);",
    "a vector": "if (i % 4 == 0 && i + 4 <= 5000) { device float4* w = (device float4*)(x + i);"
    " float4 v = *w; *w = 2 * v; *(device float4*)(y + i) = *w; *w = v; }"
    " else if (i >= 5000 / 4 * 4) y[i] = 2 * x[i];",
    "the last element only": "if (i == 4999) ((device float*)x)[i] = 1; y[i] = 2 * x[i];",
}


def dispatches(
    device: _core.Device, body: str, space: str = "device const", **compiled: bool
) -> tuple[list[_core.Dispatch], _core.Buffer, _core.Buffer]:
    source = HEAD + SIGNATURE.replace("SPACE", space) + body + "\n}\n"
    pipeline = device.compile(source, filename="k.metal", **compiled).pipeline()
    x, y = device.allocate(4 * N), device.allocate(4 * N)
    x.numpy("float32")[:] = np.arange(N)
    arguments = {"x": x, "y": y}
    return [_core.Dispatch(pipeline, arguments, threads_in_grid=N, threads=64)], x, y


@pytest.mark.parametrize("body", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("space", ["device const", "const device"])
def test_a_write_is_a_fault(device: _core.Device, body: str, space: str) -> None:
    asked, x, _ = dispatches(device, body, space)
    with pytest.raises(KernelFault, match="takes as `const`") as caught:
        device.run(asked)
    assert report.make_finding(caught.value).kind is Kind.INPUT_CHANGED
    assert np.array_equal(x.numpy("float32"), np.arange(N))


def test_the_host_may_change_const_buffers_between_runs(
    device: _core.Device,
) -> None:
    asked, x, y = dispatches(device, "y[i] = 2 * x[i];")
    for factor in (1, 3):
        x.numpy("float32")[:] = factor * np.arange(N)
        device.run(asked)
        assert np.array_equal(y.numpy("float32"), 2 * factor * np.arange(N))


def test_buffers_taken_as_writable_are_written(device: _core.Device) -> None:
    asked, x, y = dispatches(device, "x[i] += 1; y[i] = x[i];", "device")
    device.run(asked)
    assert np.array_equal(x.numpy("float32"), np.arange(N) + 1)
    assert np.array_equal(y.numpy("float32"), np.arange(N) + 1)


def test_a_buffer_of_both_kinds_is_written(device: _core.Device) -> None:
    """One dispatch makes what the next one reads."""
    source = HEAD + (
        "kernel void make(device float* x, uint i [[thread_position_in_grid]]) { x[i] = i; }\n"
        "kernel void take(device const float* x, device float* y,\n"
        "                 uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }\n"
    )
    library = device.compile(source, filename="both.metal")
    x, y = device.allocate(4 * N), device.allocate(4 * N)
    sizes = {"threads_in_grid": N, "threads": 64}
    made = _core.Dispatch(library.pipeline("make"), {"x": x}, **sizes)
    taken = _core.Dispatch(library.pipeline("take"), {"x": x, "y": y}, **sizes)
    for asked in ([made, taken], [taken], [made], [taken]):
        device.run(asked)
    assert np.array_equal(y.numpy("float32"), np.arange(N) + 1)


def test_a_checked_build_names_the_argument(device: _core.Device) -> None:
    asked, _, _ = dispatches(device, WRITES["a cast of C"], checked=True)
    found = device.check(asked, inputs=["x"], time_limit=30.0)
    assert any("x" in each.message for each in found), found
