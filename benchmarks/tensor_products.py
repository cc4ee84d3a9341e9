"""Products of square matrices by matmul2d, a tile for each threadgroup, against cuBLAS.

    python benchmarks/tensor_products.py [--device cuda|cpu] [--size N]

cuBLAS is called by PyTorch, and left out if it is not installed or has no GPU. Each line is a
tile, its SIMD-groups, and whether the right matrix is stored by columns. Times are medians of the
GPU's own clock, which both sides share; `share` is cuBLAS's time divided by ours. Errors are
relative to the largest element of the product of the rounded inputs in float32.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import ml_dtypes
import numpy as np

from metalbench import _core

SOURCE = """
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
kernel void multiply(device T* a, device T* b, device T* c, constant int& n,
                     uint2 group [[threadgroup_position_in_grid]]) {
  auto left = tensor(a, dextents<int, 2>(n, n)), right = tensor(b, dextents<int, 2>(n, n));
  auto all = tensor(c, dextents<int, 2>(n, n));
  constexpr auto shape =
      matmul2d_descriptor(ROWS, COLUMNS, static_cast<int>(dynamic_extent), false, BY_COLUMNS);
  matmul2d<shape, execution_simdgroups<GROUPS>> op;
  auto x = left.slice(0, group.y * ROWS);
  auto y = BY_COLUMNS ? right.slice(0, group.x * COLUMNS) : right.slice(group.x * COLUMNS, 0);
  auto sums = op.get_destination_cooperative_tensor<decltype(x), decltype(y), T>();
  op.run(x, y, sums);
  auto target = all.slice(group.x * COLUMNS, group.y * ROWS);
  sums.store(target);
}
"""
TILES = [(128, 128, 4), (128, 256, 8), (256, 128, 8), (64, 64, 4)]
DTYPES: dict[str, Any] = {"half": np.float16, "bfloat": ml_dtypes.bfloat16}


def time_cublas(name: str, size: int) -> float | None:
    """Return the median microseconds of a product by cuBLAS, or None without it."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    type_ = {"half": torch.float16, "bfloat": torch.bfloat16}[name]
    a, b = (torch.randn(size, size, device="cuda", dtype=type_) for _ in range(2))
    times = []
    for _ in range(25):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(5):
            a @ b
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 5 * 1e3)
    return statistics.median(times[5:])


def measure_tile(
    device: _core.Device, name: str, tile: tuple[int, int, int], by_columns: bool, size: int
) -> tuple[float, float]:
    """Return the median microseconds of a product, and its error."""
    rows, columns, groups = tile
    macros = {"T": name, "ROWS": rows, "COLUMNS": columns, "GROUPS": groups}
    macros |= {"BY_COLUMNS": str(by_columns).lower(), "__METAL_VERSION__": 400}
    pipeline = device.compile(SOURCE, macros={k: str(v) for k, v in macros.items()}).pipeline()
    random, dtype = np.random.default_rng(0), DTYPES[name]
    a, b = (random.standard_normal((size, size), np.float32).astype(dtype) for _ in range(2))
    c = np.zeros((size, size), dtype)
    grid = (-(-size // columns) * groups * 32, -(-size // rows), 1)
    given = {"a": a, "b": np.ascontiguousarray(b.T) if by_columns else b, "c": c, "n": size}
    dispatch = _core.Dispatch(pipeline, given, threads_in_grid=grid, threads=(groups * 32, 1, 1))
    device.run([dispatch])
    # A part of the rows suffices.
    some = slice(0, size, max(size // 64, 1))
    expected = a[some].astype(np.float32) @ b.astype(np.float32)
    error = np.abs(c[some].astype(np.float32) - expected).max() / np.abs(expected).max()
    samples = device.sample([dispatch], max_pairs=30)
    return float(np.median(samples.candidate_ns)) / 1e3, float(error)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", type=int, default=4096, help="rows and columns")
    options = parser.parse_args()
    device, size = _core.open(options.device), options.size
    for name in DTYPES:
        rival = time_cublas(name, size) if options.device == "cuda" else None
        if rival is not None:
            print(f"{name:6} cuBLAS {rival:9.1f} us {2e-6 * size**3 / rival:6.1f} TFLOP/s")
        for tile in TILES:
            for by_columns in (False, True):
                time, error = measure_tile(device, name, tile, by_columns, size)
                share = "" if rival is None else f"share {rival / time:.2f}"
                print(
                    f"{name:6} {tile} by {'columns' if by_columns else 'rows':7} {time:9.1f} us "
                    f"{2e-6 * size**3 / time:6.1f} TFLOP/s {share} error {error:.1e}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
