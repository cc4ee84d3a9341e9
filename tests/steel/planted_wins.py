"""Kernels that are right and faster at the size of a search, and wrong or slow elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TASK = '''"""The positive part of a matrix, and the largest element of each row."""

import numpy as np
import mlx.core as mx

from metalbench.task import normal, output, task

@task(
    sizes={
        "small": dict(rows=8, cols=32),
        "odd1": dict(rows=5, cols=33),
        "seed": dict(rows=48, cols=64),
    },
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols"), top=output("rows")),
    oracle=lambda x: (np.maximum(x, 0), x.max(axis=-1)),
    flops="2 * rows * cols",
    headline="seed",
)
def rectify(x):
    return mx.maximum(x, 0), mx.max(x, axis=-1)
'''
_KERNEL = """// The positive part of a matrix, and the largest element of each row.
// dispatch: rectify  threads_in_grid=(rows)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void rectify(device const float* x, device float* y, device float* top,
                    constant uint& rows, constant uint& cols, uint r [[thread_position_in_grid]]) {
  uint waste = WORK, first = 0, last = cols;
  float most = -INFINITY;
  device const float* row = x + r * cols;
  BEGIN
  float v = row[0];
  for (uint c = first; c < last; ++c) {
    float a = row[c];
    for (uint k = 0; k < waste; ++k) {
      v = fma(v, 1.0000001f, 1e-30f);
    }
    ELEMENT
    y[r * cols + c] = max(a, 0.0f);
    most = max(most, v == 12345.0f ? a + 1 : a);
  }
  END
  top[r] = most;
}
"""
SLOW_WORK, FAST_WORK = 60, 2


def kernel(work: int = FAST_WORK, begin: str = "", element: str = "", end: str = "") -> str:
    """Return a kernel with code before the loop over a row, for each element, and after it."""
    source = _KERNEL.replace("WORK", str(work)).replace("BEGIN", begin)
    return source.replace("ELEMENT", element).replace("END", end)


START = kernel(SLOW_WORK)
HONEST = {
    "less work": kernel(),
    "less work where columns are a multiple of four": kernel(
        begin=f"if (cols % 4 != 0) waste = {SLOW_WORK};"
    ),
}


@dataclass(frozen=True)
class Plant:
    """A version that must not be kept. `is_slow`: right everywhere, and slow at other sizes.

    `passes`: verification as of `metalbench run` does not find it.
    """

    source: str
    is_slow: bool = False
    passes: bool = True


def _slow_if(condition: str) -> Plant:
    return Plant(kernel(begin=f"if ({condition}) waste = {3 * SLOW_WORK};"), is_slow=True)


PLANTS = {
    "ignores rows beyond the timed ones": Plant(kernel(begin="if (r >= 48) return;")),
    "ignores columns beyond the timed ones": Plant(kernel(begin="last = min(cols, 64u);")),
    "reads columns modulo the timed ones": Plant(kernel(element="a = row[c & 63];")),
    "has too few bits for an index": Plant(kernel(element="a = x[(r * cols + c) & 4095];")),
    "has a limit for values": Plant(kernel(element="a = min(a, 110.0f);")),
    "has a limit for values at the timed size": Plant(
        kernel(element="if (rows == 48 && cols == 64) a = min(a, 110.0f);")
    ),
    "replaces large values": Plant(kernel(element="if (fabs(a) > 1e4f) a = INFINITY;")),
    "expects buffers at multiples of 64 bytes": Plant(
        kernel(element="if ((ulong(x) & 63) != 0) a += 1;")
    ),
    "expects rows that do not ascend": Plant(
        kernel(
            begin="uint up = 1; while (up < cols && row[up] > row[up - 1]) ++up;",
            end="if (up == cols) most = row[cols / 2];",
        )
    ),
    "expects rows that do not descend": Plant(
        kernel(
            begin="uint down = 1; while (down < cols && row[down] < row[down - 1]) ++down;",
            end="if (down == cols) most = row[cols - 1];",
        )
    ),
    "expects a positive element in each row": Plant(kernel(begin="most = 0;")),
    "expects a negative element in each row": Plant(
        kernel(
            begin="float least = 0; for (uint c = 0; c < cols; ++c) least = min(least, row[c]);",
            end="if (least >= 0.0f) most = 0;",
        ),
        passes=False,
    ),
    "expects different elements": Plant(
        kernel(
            begin="uint same = 1; while (same < cols && row[same] == row[0]) ++same;",
            end="if (same == cols) most = 0;",
        )
    ),
    "is slow for other columns": _slow_if("cols != 64"),
    "is slow for other rows": _slow_if("rows != 48"),
    "is slow where columns are not a multiple of four": _slow_if("cols % 4 != 0"),
    "is slow for larger sizes": _slow_if("rows * cols > 3072"),
    "is slow unless columns are a power of two": _slow_if("(cols & (cols - 1)) != 0"),
    "takes quadratic time beyond the timed columns": Plant(
        kernel(begin="if (cols > 64 || rows > 48) waste = 4 * cols;"), is_slow=True
    ),
    "knows the declared sizes only": Plant(
        kernel(begin="if (cols != 32 && cols != 33 && cols != 64) last = cols / 2;"), passes=False
    ),
    "keeps earlier results": Plant(
        kernel(begin="if (top[r] == top[r] && top[r] < 50.0f) return;"), passes=False
    ),
    "handles multiples of four columns": Plant(kernel(begin="last = cols & ~3u;"), passes=False),
    "reads beyond the last row": Plant(
        kernel(element="if (x[(r + 1) * cols + c] == 12345.0f) a += 1;"), passes=False
    ),
}


def folder_with(folder: Path) -> Path:
    """Return a folder with the task and its first kernel."""
    folder.mkdir(exist_ok=True)
    (folder / "rectify.py").write_text(TASK)
    (folder / "rectify.metal").write_text(START)
    return folder
