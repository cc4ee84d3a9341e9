"""Write the files of a new task and its kernel, from a template or from another task."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry

TASK = '''\
"""Twice the input."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(n=100), odd1=dict(n=1023), seed=dict(n=1 << 20), large=dict(n=1 << 24)
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,  # what is right: NumPy, float64
    dtypes=("float32", "float16", "bfloat16"),
    flops="n",
    baseline="x + x",
)
def {name}(x):  # the reference to beat: MLX
    return x + x
'''
KERNEL = """\
// Twice the input: one thread for each element, for a start. Say here how it works, and why so.
// dispatch: twice  threads_in_grid=(n)  threads=(TG)
// tune: TG = 256, 64, 1024
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void twice(device const DTYPE* x, device DTYPE* y, uint i [[thread_position_in_grid]]) {
  y[i] = DTYPE(2 * float(x[i]));
}
"""


def scaffold(name: str, folder: Path, *, like: Entry | None = None) -> tuple[Path, Path]:
    """Write NAME.py and NAME.metal into `folder`; create the folder if it is missing.

    The files of the task `like` are copied and renamed; by default they come from a template. Raise
    DeclarationError, before any write, for an invalid Python name and for existing files.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise DeclarationError(
            f"[{name}] expected a name of lower-case letters, digits and underscores that begins "
            "with a letter, as a task's function has"
        )
    targets = folder / f"{name}.py", folder / f"{name}.metal"
    for path in targets:
        if path.exists() or path.is_symlink():
            raise DeclarationError(f"[{name}] {path} is already there; choose another name")
    texts = _template(name) if like is None else _copies(name, like)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in zip(targets, texts, strict=True):
        # "x" also refuses a link to a file that does not exist.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return targets


def _template(name: str) -> tuple[str, str]:
    return TASK.format(name=name), KERNEL


def _copies(name: str, like: Entry) -> tuple[str, str]:
    task = like.task_path.read_text(encoding="utf-8")
    renamed = re.sub(rf"^def {like.name}\(", f"def {name}(", task, flags=re.MULTILINE)
    return renamed, like.kernel_path().read_text(encoding="utf-8")
