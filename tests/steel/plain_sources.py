"""The plain kernels of the benchmarks, and small kernels to transform."""

from __future__ import annotations

from pathlib import Path

from agent_steel.source import with_source
from metalbench.kernel.header import Kernel, parse
from metalbench.kernel.library import Entry, Library

PLAIN = Path(__file__).parents[2] / "benchmarks" / "plain_kernels"
NAMES = sorted(path.stem for path in PLAIN.glob("*.metal"))


def read_plain(name: str) -> tuple[Entry, Kernel]:
    """Return a task of the library with its plain kernel, which has the defaults of `cpu`."""
    entry = Library().entry(name)
    text = (PLAIN / f"{name}.metal").read_text("utf-8")
    return entry, with_source(entry.kernel().on(("cpu",)), text)


def row_kernel(body: str, arguments: str = "device const float* x, device float* y") -> Kernel:
    """Return a kernel with one thread for each row."""
    return parse(
        f"""// dispatch: f  threads_in_grid=(rows)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void f({arguments}, constant uint& cols, uint row [[thread_position_in_grid]]) {{
{body}
}}
""",
        name="f",
    )


def element_kernel(body: str) -> Kernel:
    """Return a kernel with one thread for each element."""
    return parse(
        f"""// dispatch: f  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void f(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {{
{body}
}}
""",
        name="f",
    )


def plane_kernel(body: str, grid: str = "cols, rows") -> Kernel:
    """Return a kernel with one thread for each element of a matrix."""
    return parse(
        f"""// dispatch: f  threads_in_grid=({grid})  threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void f(device const float* x, device const float* w, device float* y, constant uint& rows,
              constant uint& cols, uint2 p [[thread_position_in_grid]]) {{
{body}
}}
""",
        name="f",
    )
