"""A kernel without synchronisation against the same loop in C, both on all cores.

    python benchmarks/elementwise.py

relu over 64 M float32 (512 MB moved). The C loop is compiled by the same clang with -O3 -ffast-math
and run on one thread a core, each with its own part. Medians in GB/s over pairs in random order.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from metalbench import _core
from metalbench.msl.toolchain.clang import find_toolchain

COUNT = 64 * 1024 * 1024
KERNEL = """
#include <metal_stdlib>
using namespace metal;
kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = max(x[i], 0.0f);
}
"""
LOOP = """
void relu(const float *restrict x, float *restrict y, unsigned long n) {
  for (unsigned long i = 0; i < n; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
"""


def c_loop(folder: Path) -> Callable[..., None]:
    source, library = folder / "relu.c", folder / "relu.so"
    source.write_text(LOOP)
    compiled = folder / "relu.o"
    tools = find_toolchain()
    flags = ["-O3", "-march=native", "-ffast-math", "-fPIC", "-c"]
    subprocess.run([*tools.clang, *flags, str(source), "-o", str(compiled)], check=True)
    subprocess.run([*tools.linker, "-shared", str(compiled), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).relu
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong]
    function.restype = None
    return function


def main() -> None:
    device = _core.open("cpu")
    x = np.random.default_rng(0).standard_normal(COUNT, dtype=np.float32)
    y = np.zeros_like(x)
    pipeline = device.compile(KERNEL).pipeline()
    candidate = _core.Dispatch(pipeline, {"x": x, "y": y}, threads_in_grid=COUNT, threads=256)
    parts = np.linspace(0, COUNT, device.cores + 1, dtype=int)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(device.cores) as pool:
        loop = c_loop(Path(folder))

        def part(begin: int, end: int) -> None:
            loop(x.ctypes.data + 4 * begin, y.ctypes.data + 4 * begin, end - begin)

        def reference(passes: int) -> None:
            for _ in range(passes):
                list(pool.map(part, parts[:-1].tolist(), parts[1:].tolist()))

        samples = device.sample([candidate], reference, max_pairs=60, time_limit_ns=20e9)
    ours, c = np.median(samples.candidate_ns), np.median(samples.reference_ns)
    ratio = np.median(samples.reference_ns / samples.candidate_ns)
    print(f"cpu device {8 * COUNT / ours:6.2f} GB/s")
    print(f"C loop     {8 * COUNT / c:6.2f} GB/s")
    print(f"ratio      {ratio:6.2f}   (median over {len(samples.candidate_ns)} pairs)")


if __name__ == "__main__":
    main()
