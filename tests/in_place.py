"""A task whose kernels may update an input in place, and kernels of it."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from metalbench.task import distinct, normal, output, task


def _placed(cache: np.ndarray, fresh: np.ndarray, position: np.ndarray) -> np.ndarray:
    y = cache.copy()
    y[position.astype(np.int64)] = fresh
    return y


@task(
    sizes=dict(
        small=dict(n=100, tokens=30),
        seed=dict(n=4096, tokens=2048),
        large=dict(n=1 << 20, tokens=64),
    ),
    inputs=dict(cache=normal("n"), fresh=normal("tokens"), position=distinct("tokens", below="n")),
    outputs=dict(y=output("n")),
    oracle=_placed,
    flops="0",
    draw=lambda random: dict(n=int(random.integers(64, 512)), tokens=int(random.integers(1, 65))),
    inout=dict(cache="y"),
    inout_bytes="12 * tokens",
)
def placed(cache, fresh, position):
    y = mx.array(cache)
    y[position] = fresh
    return y


HEADER = """\
// New elements of a cache, in place.
// inout: cache
// dispatch: place  threads_in_grid=(tokens)  threads=(64)
#include <metal_stdlib>
using namespace metal;
static float work(float v) {
  float w = v;
  for (int k = 0; k < 1000; ++k) w = fma(w, 0.5f, v * 0.5f);
  return w;
}
[[kernel]] void place(device float* cache, device const float* fresh, device const uint* position,
                      uint i [[thread_position_in_grid]]) {
"""
RIGHT = HEADER + "  cache[position[i]] = fresh[i];\n}\n"
# `work` returns its argument: a thread does much for its element.
SLOW = HEADER + "  cache[position[i]] = work(fresh[i]);\n}\n"
# It skips the work on an array that has been updated.
SKIPPING = HEADER + (
    "  if (cache[position[i]] != fresh[i]) cache[position[i]] = work(fresh[i]);\n}\n"
)
ADDING = HEADER + "  cache[position[i]] += fresh[i];\n}\n"
# It writes to another buffer.
COPYING = """\
// New elements of a copy of a cache.
// dispatch: copy  threads_in_grid=(n)  threads=(64)
// dispatch: place  threads_in_grid=(tokens)  threads=(64)
#include <metal_stdlib>
[[kernel]] void copy(device const float* cache, device float* y,
                     uint i [[thread_position_in_grid]]) {
  y[i] = cache[i];
}
[[kernel]] void place(device const float* fresh, device const uint* position, device float* y,
                      uint i [[thread_position_in_grid]]) {
  y[position[i]] = fresh[i];
}
"""
