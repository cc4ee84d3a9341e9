"""A kernel and its next version, as in prompts and in replies."""

from __future__ import annotations

VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
SOURCE = """\
// Twice as plain.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(TG)
// tune: TG = 256, 64
#include <metal_stdlib>
using namespace metal;

[[kernel]] void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = max(x[i], 0.0);
}
"""
BETTER = SOURCE.replace("Twice as plain.", "Plain, but better.")
