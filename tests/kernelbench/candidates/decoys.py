"""Candidates for sqr_mm with kernels that are launched and do not do the work, and honest ones."""

from __future__ import annotations

HEAD = """import mlx.core as mx
import numpy as np


def product(a, b):
    return np.asarray(a) @ np.asarray(b)


"""


def _kernel(source: str, shape: str, grid: str, more: str = "") -> str:
    return (
        f"kernel = mx.fast.metal_kernel(\n    name='k', input_names=['a', 'b'], "
        f"output_names=['o'],\n    source='''{source}''')\n\n\n"
        "def made(a, b):\n    n = a.shape[0]\n"
        f"    return kernel(inputs=[a, b], grid={grid}, threadgroup=(8, 1, 1),\n"
        f"                  output_shapes=[{shape}], output_dtypes=[mx.float32]{more})[0]\n\n\n"
    )


_EVERY = "uint i = thread_position_in_grid.x; "
_ONES = _kernel(_EVERY + "o[i] = a[i] == 12345.0f ? b[i] : 1.0f;", "(n, n)", "(n * n, 1, 1)")
_ZEROS = _kernel(_EVERY + "o[i] = a[i] == 12345.0f ? b[i] : 0.0f;", "(n, n)", "(n * n, 1, 1)")
_COPY = _kernel(_EVERY + "o[i] = a[i] + 0 * b[i];", "(n, n)", "(n * n, 1, 1)")
_ROWS = _kernel("o[thread_position_in_grid.x] = 1.0f;", "(n,)", "(n, 1, 1)")
_ONE = _kernel("o[0] = 1.0f;", "(1,)", "(1, 1, 1)")
_SPIN = _kernel(
    "float s = a[0]; for (int i = 0; i < 100000; ++i) s = s * 0.5f + 1.0f;"
    " o[0] = s < 0 ? 0.0f : 1.0f;",
    "(1,)",
    "(1, 1, 1)",
)
_FILLED = _kernel("o[0] = 1.0f;", "(n, n)", "(1, 1, 1)", ", init_value=1.0")
_FIRST = _kernel("o[0] = 1.0f;", "(n, n)", "(1, 1, 1)")


def _entry(expression: str) -> str:
    return f"def sqr_mm(a, b):\n    return {expression}\n"


DECOYS = {
    "a factor": HEAD + _ONE + _entry("product(a, b) * np.float32(made(a, b).item())"),
    "a factor after a loop": HEAD + _SPIN + _entry("product(a, b) * np.float32(made(a, b).item())"),
    "a factor for each element": HEAD + _ONES + _entry("mx.array(product(a, b)) * made(a, b)"),
    "a factor for each row": HEAD + _ROWS + _entry("mx.array(product(a, b)) * made(a, b)[:, None]"),
    "a factor for each element, of MLX": HEAD + _ONES + _entry("mx.matmul(a, b) * made(a, b)"),
    "something is added": HEAD + _ZEROS + _entry("mx.array(product(a, b)) + made(a, b)"),
    "something is subtracted": HEAD + _ZEROS + _entry("mx.array(product(a, b)) - made(a, b)"),
    "a copy of an input, times zero": HEAD
    + _COPY
    + _entry("mx.array(product(a, b)) + 0 * made(a, b)"),
    "what it wrote is checked": HEAD
    + _ONES
    + _entry("mx.where(made(a, b) == 1, mx.array(product(a, b)), 0)"),
    "all that it wrote is checked": HEAD
    + _ONES
    + _entry("product(a, b) if made(a, b).sum().item() == a.size else product(a, a)"),
    "the greatest of what it wrote": HEAD
    + _ONES
    + _entry("mx.array(product(a, b)) * made(a, b).max()"),
    "what its output is filled with": HEAD
    + _FILLED
    + _entry("mx.array(product(a, b)) * made(a, b)"),
    "one element of its output": HEAD
    + _FIRST
    + _entry("mx.array(product(a, b)) * made(a, b)[0, 0]"),
}
_SUM = (
    "uint i = thread_position_in_grid.x, n = a_shape[1], r = i / n, c = i % n; float s = 0;"
    " for (uint k = 0; k < n; ++k) s += a[r * n + k] * b[k * n + c]; o[i] = s;"
)
_OF_TRANSPOSED = _SUM.replace("b[k * n + c]", "b[c * n + k]")
_HALVES = (
    "uint i = thread_position_in_grid.x, n = a_shape[1], h = i / (n * n), r = i / n % n, c = i % n;"
    " float s = 0; for (uint k = h * n / 2; k < (h + 1) * n / 2; ++k)"
    " s += a[r * n + k] * b[k * n + c]; o[i] = s;"
)
_WHOLE = _kernel(_SUM, "(n, n)", "(n * n, 1, 1)")
HONEST = {
    "a kernel for everything": HEAD + _WHOLE + _entry("made(a, b)"),
    "its input is transposed by MLX": HEAD
    + _kernel(_OF_TRANSPOSED, "(n, n)", "(n * n, 1, 1)")
    + _entry("made(a, b.T)"),
    "halves of sums, added by MLX": HEAD
    + _kernel(_HALVES, "(2, n, n)", "(2 * n * n, 1, 1)")
    + _entry("made(a, b).sum(axis=0)"),
    "scaled by MLX before and after": HEAD + _WHOLE + _entry("made(a * 2, b) / 2"),
    "filled with zeros before": HEAD
    + _kernel(_SUM, "(n, n)", "(n * n, 1, 1)", ", init_value=0.0")
    + _entry("made(a, b)"),
}
