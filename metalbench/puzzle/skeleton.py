"""Files to begin a puzzle with: the skeleton in MSL, and the same over `mx.fast.metal_kernel`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from metalbench.errors import DeclarationError
from metalbench.puzzle.declaration import Puzzle
from metalbench.task.expression import Expression

_PARTS = re.compile(
    r"using namespace metal;\n(?P<header>.*?)kernel void \w+\((?P<parameters>[^{]*)\) \{\n"
    r"(?P<body>.*)\}\s*$",
    re.DOTALL,
)
_ASKS = re.compile(r"^  // Your code.*$", re.MULTILINE)
_ATTRIBUTE = re.compile(r"(uint\d?) (\w+) \[\[(\w+)\]\]")
# Attributes that MLX gives as one number; all others have three.
_NUMBERS = ("thread_index_in_simdgroup", "simdgroup_index_in_threadgroup")
_COMPONENTS = {"uint": ".x", "uint2": ".xy", "uint3": ""}
_PYTHON = '''\
"""{describe}"""

import mlx.core as mx

HEADER = """
{header}"""
SOURCE = """
{source}"""


def ceil_div(a, b):
    return -(-a // b)


def solve({arguments}):
    kernel = mx.fast.metal_kernel(
        name="{name}",
        input_names=[{names}],
        output_names=["{output}"],
        header=HEADER,
        source=SOURCE,
    )
    return kernel(
        inputs=[{arguments}],
        grid=({grid}),
        threadgroup=({threads}),
        output_shapes=[({shape})],
        output_dtypes=[mx.{dtype}],
    )
'''


def start(puzzle: Puzzle, folder: Path, *, python: bool = False) -> Path:
    """Write the file to begin with into `folder`, which is made if there is none; say where it is.

    Raise DeclarationError if it is there already.
    """
    path = folder / f"{puzzle.stem}.{'py' if python else 'metal'}"
    if path.exists() or path.is_symlink():
        raise DeclarationError(f"{path} is already there; remove it, or say another --into")
    text = python_form(puzzle, puzzle.skeleton.source) if python else puzzle.skeleton.source
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    return path


def filled(puzzle: Puzzle, body: str) -> str:
    """Return the skeleton's text with `body` in place of the comment that asks for code."""
    return _ASKS.sub(lambda _: body.rstrip("\n"), puzzle.skeleton.source, count=1)


def python_form(puzzle: Puzzle, source: str) -> str:
    """A Python file with the body of the one kernel in `source`, which is laid out as a skeleton.

    What MSL gives as arguments by attributes are variables with the same names.
    """
    parts = _PARTS.search(source)
    if parts is None:
        raise DeclarationError(
            f"[{puzzle.name}] expected one kernel behind `using namespace metal`"
        )
    ((output, made),) = puzzle.task.outputs.items()
    (dispatch,) = puzzle.skeleton.dispatches
    attributes = _ATTRIBUTE.findall(parts["parameters"])
    variables = [
        f"  {kind} {name} = {_component(kind, what)};\n" for kind, name, what in attributes
    ]
    names = [*puzzle.task.inputs, *puzzle.task.values(puzzle.task.headline)]
    return _PYTHON.format(
        describe=puzzle.skeleton.source.partition("\n")[0].lstrip("/ "),
        header=parts["header"].strip("\n") + ("\n" if parts["header"].strip() else ""),
        source="".join(variables) + parts["body"],
        name=puzzle.name,
        arguments=", ".join(names),
        names=", ".join(f'"{each}"' for each in names),
        output=output,
        grid=", ".join(_grid(dispatch.threads, dispatch.threadgroups, dispatch.threads_in_grid)),
        threads=", ".join(_three(dispatch.threads)),
        shape=", ".join(each.text for each in made.shape) + ("," if len(made.shape) == 1 else ""),
        dtype=made.dtype.name if made.dtype else "float32",
    )


def _component(kind: str, attribute: str) -> str:
    return attribute if attribute in _NUMBERS else attribute + _COMPONENTS[kind]


def _three(extents: tuple[Expression, ...]) -> list[str]:
    return ([each.text for each in extents] + ["1", "1"])[:3]


def _grid(
    threads: tuple[Expression, ...],
    groups: tuple[Expression, ...] | None,
    grid: tuple[Expression, ...] | None,
) -> Iterator[str]:
    """Yield threads in all, as MLX counts them."""
    if groups is None:
        yield from _three(grid or ())
        return
    for count, size in zip(_three(groups), _three(threads), strict=True):
        yield count if size == "1" else f"{count} * {size}"
