"""Kernels of the library as somebody might have left them: right, with defaults that are bad."""

from __future__ import annotations

from pathlib import Path

from metalbench.kernel.library import Library

RELU = """// ReLU by way of threadgroup memory: of few threads a group is mostly launch and barrier.
// dispatch: relu  threadgroups=(ceil_div(rows * cols, TG))  threads=(TG)
// tune: TG = 1, 256, 64
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup float kept[TG];
  const bool inside = i < rows * cols;
  kept[t] = inside ? x[i] : 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (inside) y[i] = isnan(kept[t]) ? kept[t] : max(kept[t], 0.0f);
}
"""
# What is put in place of what in the library's own texts.
WORSE = {
    "softmax": {"cpu TG = 32, KEEP = 8": "cpu TG = 1024, KEEP = 1, LEAST = 1024"},
    "sqr_mm": {"BM = 64, 32": "BM = 16, 64, 32", "BN = 64, 32": "BN = 16, 64, 32"},
}


def write_bad(folder: Path, name: str) -> None:
    """Write the kernel of that name, relu, softmax or sqr_mm, with bad defaults."""
    text = RELU
    if name in WORSE:
        text = Library().entry(name).kernel().source
        for part, worse in WORSE[name].items():
            assert part in text
            text = text.replace(part, worse)
    (folder / f"{name}.metal").write_text(text)
