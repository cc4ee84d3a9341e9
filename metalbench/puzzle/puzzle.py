"""Declare puzzles: a problem with a reference in NumPy, and a target for its accesses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NoReturn

from metalbench.errors import DeclarationError, TaskError, suggestion
from metalbench.expression import Expression, parse
from metalbench.kernel import header
from metalbench.kernel.header import Kernel
from metalbench.kernel.source_files import data_folder
from metalbench.task import Array, Input, Task
from metalbench.task.declaration import spell_size

# The counts of the score: each of the thread with the most accesses.
SCORED = ("device_reads", "device_writes", "threadgroup_reads", "threadgroup_writes")


@dataclass(frozen=True)
class Declared:
    """The content of a puzzle's Python file: a task without a name, and the score target."""

    sizes: Sequence[Mapping[str, int]]
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Array]
    target: Mapping[str, Expression]
    reference: Callable[..., Any]

    def task(self, name: str, description: str) -> Task:
        """Return the task for the kernels of this puzzle; the names of its sizes are spelled."""

        def no_mlx(**_: Any) -> NoReturn:
            raise TaskError(f"[{name}] a puzzle is not timed against MLX")

        sizes = {spell_size(each): each for each in self.sizes}
        headline = list(sizes)[-1]
        task = Task(
            name=name,
            description=description,
            sizes=sizes,
            inputs=self.inputs,
            outputs=self.outputs,
            reference=no_mlx,
            oracle=self.reference,
            scale=None,
            constants={},
            dtypes=("float32",),
            headline=headline,
            gpu_headlines=(headline,),
            baseline="",
            flops_expression=parse(0),
        )
        for size in sizes:
            task.check_size(size)
        return task


@dataclass(frozen=True)
class Puzzle:
    """One exercise.

    `statement`, `following` and each of `hints` are Markdown. `skeleton` is the initial kernel;
    every solution keeps its dispatch line. `target` are expressions of the sizes, by the
    names of `SCORED`.
    """

    number: int
    name: str
    title: str
    statement: str
    hints: tuple[str, ...]
    following: str
    skeleton: Kernel
    task: Task
    target: Mapping[str, Expression]

    @property
    def stem(self) -> str:
        """How files of this puzzle are called: `03_guard`."""
        return f"{self.number:02}_{self.name}"

    def target_at(self, size: str) -> dict[str, int]:
        """Return how many accesses of each kind the busiest thread needs at a size."""
        values = self.task.values(size)
        return {name: self.target[name].evaluate(values) for name in SCORED}


def puzzle(
    *,
    sizes: Sequence[Mapping[str, int]],
    inputs: Mapping[str, Input],
    outputs: Mapping[str, Array],
    target: Mapping[str, str | int],
) -> Callable[[Callable[..., Any]], Declared]:
    """Declare the puzzle whose reference is the decorated function of NumPy arrays.

    `target` says how many accesses the busiest thread needs, as expressions of the sizes; kinds
    that it does not name are 0. Raise DeclarationError for a name that is none of `SCORED`.
    """
    for name in target:
        if name not in SCORED:
            raise DeclarationError(f"target: unknown name {name!r}; {suggestion(name, SCORED)}")
    counts = {name: parse(target.get(name, 0)) for name in SCORED}

    def declare(reference: Callable[..., Any]) -> Declared:
        return Declared(sizes, inputs, outputs, counts, reference)

    return declare


# The puzzles there are, read from their files: NN_name.py, NN_name.metal and NN_name.md.

HINT, NEXT = "Hint", "Next"
_FILE = re.compile(r"(\d\d)_(\w+)\.py")
_SECTION = re.compile(r"^## ", re.MULTILINE)


@cache
def series() -> tuple[Puzzle, ...]:
    """Return all puzzles, in their order. Raise DeclarationError if the folder is not there."""
    folder = data_folder("puzzles", "01_map.py")
    return tuple(_read(path) for path in sorted(folder.glob("[0-9][0-9]_*.py")))


def find(which: str | int) -> Puzzle:
    """Return a puzzle by its number or name; DeclarationError if there is none."""
    name = str(which).lower()
    puzzles = series()
    for each in puzzles:
        if name in (each.name, each.stem) or (name.isdigit() and int(name) == each.number):
            return each
    if name.isdigit():
        raise DeclarationError(f"puzzle {which}: expected 1 to {len(puzzles)}")
    raise DeclarationError(
        f"puzzle {which!r}: no such puzzle; {suggestion(name, [each.name for each in puzzles])}"
    )


def _read(path: Path) -> Puzzle:
    named = _FILE.fullmatch(path.name)
    if named is None:
        raise DeclarationError(f"{path}: expected a name such as 03_guard.py")
    number, name = int(named[1]), named[2]
    declared = _load_declaration(path)
    title, statement, hints, following = _read_statement(path.with_suffix(".md"))
    return Puzzle(
        number=number,
        name=name,
        title=title,
        statement=statement,
        hints=hints,
        following=following,
        skeleton=header.read(path.with_suffix(".metal"), name),
        task=declared.task(name, title),
        target=declared.target,
    )


def _load_declaration(path: Path) -> Declared:
    spec = spec_from_file_location(f"metalbench_puzzles.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, "reference", None)
    if not isinstance(found, Declared):
        raise DeclarationError(f"{path}: expected a function `reference` under @puzzle(...)")
    return found


def _read_statement(path: Path) -> tuple[str, str, tuple[str, ...], str]:
    """Title, statement, hints and what comes next."""
    first, *sections = _SECTION.split(path.read_text(encoding="utf-8"))
    title, _, task = first.removeprefix("# ").partition("\n")
    statement, hints, following = [task.strip()], [], ""
    for section in sections:
        name, _, text = section.partition("\n")
        if name == HINT:
            hints.append(text.strip("\n"))
        elif name == NEXT:
            following = text.strip()
        else:
            statement.append(f"## {name}\n{text.rstrip()}")
    return title.strip(), "\n\n".join(statement), tuple(hints), following


# Files to begin a puzzle with: the skeleton in MSL, and the same over `mx.fast.metal_kernel`.

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
