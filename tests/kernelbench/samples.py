"""A folder of generations, each right or wrong in its own way, and the task that they are for."""

from __future__ import annotations

from pathlib import Path

TASK = '''"""Twice the input."""

import mlx.core as mx

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=77), seed=dict(n=4096)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    headline="seed",
    baseline="x + x",
)
def NAME(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void twice(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  STATEMENT
}
"""
SET = "tiny"
FILE = "```metal\n{}```\n"


def kernel(statement: str) -> str:
    """A kernel with this body."""
    return KERNEL.replace("STATEMENT", statement)


RIGHT = kernel("y[i] = 2 * x[i];")
# Work in vain that no compiler can leave out.
SLOW = kernel(
    "float v = x[i];\n  for (uint k = 0; k < 300; ++k) v = fma(v, 1.0000001f, 1e-30f);\n"
    "  y[i] = v == 12345.0f ? 0.0f : 2 * x[i];"
)
WRONG = kernel("y[i] = 3 * x[i];")
HANGS = kernel("uint k = i; while (x[i] != 12345.0f) { k = k * 5 + 1; y[k % n] = k; }")
BEYOND = kernel("y[i] = 2 * x[i + 1000000];")
# Right at the sizes that the task declares, and at no other.
CHEATS = kernel("if (n == 100 || n == 77 || n == 4096) y[i] = 2 * x[i];")
BROKEN = kernel("y[i] = 2 * z[i];")
UNBOUND = RIGHT.replace("x, device", "z, device").replace("x[i]", "z[i]")
HOST = kernel('asm volatile("nop");\n  y[i] = 2 * x[i];')
READS = RIGHT.replace("<metal_stdlib>", '"/etc/passwd"')
HEADLESS = RIGHT.replace("// dispatch:", "// Dispatched as")
PYTHON = "import mlx.core as mx\n\n\ndef twice(x):\n    return mx.add(x, x)\n"
SEVERAL = f"One:\n{FILE.format(RIGHT)}Another:\n{FILE.format(WRONG)}"
PROSE = "I would rather tell you how one could go about it, in a few words.\n"


def tasks_in(folder: Path, count: int = 1) -> Path:
    """A folder with the set SET of `count` tasks."""
    (folder / SET).mkdir(parents=True)
    for number in range(1, count + 1):
        name = f"twice{number:02d}"
        (folder / SET / f"{name}.py").write_text(TASK.replace("NAME", name))
    return folder


def write_samples(root: Path, problems: list[list[str]]) -> Path:
    """A folder of generations: for each problem its samples."""
    for problem, texts in enumerate(problems, 1):
        folder = root / SET / f"problem_{problem}"
        folder.mkdir(parents=True)
        for number, text in enumerate(texts):
            (folder / f"sample_{number}.metal").write_text(text)
    return root
