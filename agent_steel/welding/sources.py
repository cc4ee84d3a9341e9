"""Tasks from the user's own programs: a PyTorch module, an MLX function, a StableHLO program.

No model takes part. The program itself is the reference, and its evaluation in float64 the oracle.
Sizes and kinds of inputs are found by trial from one example. The task's file is written with a
copy of the program in its folder, and then checked as every draft is (`checks.py`).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agent_steel.models.local_paths import remove_local_paths
from agent_steel.welding.draft import valid_name
from agent_steel.welding.shapes import Probe, Shape, TaskShapes, find_shapes
from metalbench.errors import DeclarationError, TaskError, suggestion
from metalbench.kernel.library import load_task
from metalbench.kernelbench.pytorch.importing import WAYS, find_tolerance, import_module
from metalbench.reference.mlx_function import MlxFunction
from metalbench.task import Task
from metalbench.task.declaration import spell_size
from metalbench.task.dtypes import DTYPES, FLOATS
from metalbench.task.workload import workload
from metalbench.verify import small_sizes

SOURCES = (
    "a PyTorch module (FILE.py, FILE.py:CLASS or package.module:CLASS), an MLX function "
    "(FILE.py:FUNCTION or package.module:FUNCTION) or a StableHLO program (FILE.mlir)"
)
INPUT_FORM = "[NAME=]16x128[:TYPE]"
_INPUT = re.compile(r"(?:([A-Za-z_]\w*)=)?(\d+(?:x\d+)*)(?::(\w+))?")
# What floats may be drawn from, the widest first; the first with finite results is taken.
FLOAT_INPUTS = (
    "normal({dims}{spread})",
    "normal({dims}{spread}).only(coarse(), sparse())",
    "normal({dims}{spread}).only(coarse())",
    "positive({dims})",
    "uniform({dims}, low=0.1, high=0.9)",
)
# Integers without an example lie below it.
MOST_INTEGER = 8
WIDTH = 100


@dataclass(frozen=True)
class ExampleInput:
    """One argument: shape and element type, and the array if the file gives one."""

    shape: Shape
    dtype: str = "float32"
    name: str = ""
    values: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class AuthoredTask:
    """A task of a program: its files by name, for a reader, and remarks on how it came about.

    `reference` is the name of a file that a second evaluation of the oracle is made from; empty if
    there is none.
    """

    name: str
    title: str
    oracle: str
    files: Mapping[str, str]
    reference: str = ""
    remarks: tuple[str, ...] = ()


class Source(Protocol):
    """A program of the user's, of which a task is made."""

    @property
    def name(self) -> str:
        """A name for its task."""

    def author(self, name: str, folder: Path) -> AuthoredTask:
        """Write the task's files into an empty folder and return them. Raise DeclarationError."""


def parse_input(text: str) -> ExampleInput:
    """Return the example of ``--input``; raise DeclarationError for another form."""
    found = _INPUT.fullmatch(text.strip())
    if found is None:
        raise DeclarationError(
            f"--input {text}: expected {INPUT_FORM}, such as 16x128, ids=64:int32 or w=128"
        )
    kind = found[3] or "float32"
    if kind not in DTYPES:
        raise DeclarationError(f"--input {text}: no type {kind!r}; {suggestion(kind, DTYPES)}")
    return ExampleInput(tuple(map(int, found[2].split("x"))), kind, found[1] or "")


def read_source(text: str, inputs: Sequence[ExampleInput] = ()) -> Source:
    """Return the program that `text` names. Raise DeclarationError if it names none.

    `inputs` are the examples of ``--input``. Without them a Python file has `get_inputs`.
    """
    place, _, name = text.rpartition(":") if ":" in text else (text, "", "")
    path = Path(place)
    if path.suffix in (".mlir", ".mlirbc", ".stablehlo"):
        if inputs:
            raise DeclarationError(f"--input: {path.name} has the shapes of its arguments itself")
        return StableHloSource(_existing(path))
    if path.suffix == ".py":
        return _read_python(_existing(path), name, inputs)
    if name and re.fullmatch(r"[A-Za-z_][\w.]*", place):
        return _read_module(place, name, inputs)
    raise DeclarationError(f"SOURCE {text}: expected {SOURCES}")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DeclarationError(f"SOURCE {path}: expected a file, found none")
    return path


def _read_python(path: Path, name: str, inputs: Sequence[ExampleInput]) -> Source:
    text = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise DeclarationError(f"{path}: line {error.lineno}: SyntaxError: {error.msg}") from None
    classes = [each.name for each in tree.body if isinstance(each, ast.ClassDef)]
    functions = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
    public = [each for each in functions if not each.startswith("_") and each != "get_inputs"]
    if not name and "Model" in classes:
        name = "Model"
    elif not name and len(public) == 1:
        (name,) = public
    if name in classes:
        return TorchSource(path.stem if name == "Model" else name, text, name, functions, inputs)
    if name in functions:
        return MlxSource(name, text, inputs)
    known = [*classes, *public]
    if name:
        raise DeclarationError(f"{path}: no class or function {name!r}; {suggestion(name, known)}")
    raise DeclarationError(
        f"{path}: expected a class Model or one function, got {', '.join(known) or 'none'}; name "
        f"one as {path.name}:NAME"
    )


def _read_module(module: str, name: str, inputs: Sequence[ExampleInput]) -> Source:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise DeclarationError(
            f"SOURCE {module}:{name}: {error}; expected a module that Python finds here, or a file "
            "as FILE.py:NAME"
        ) from None
    except AttributeError as error:
        raise DeclarationError(f"SOURCE {module}:{name}: {error}") from None
    if inspect.isclass(found):
        text = f"from {module} import {name}\n"
        return TorchSource(name, text, name, (), inputs)
    return MlxSource(name, f"from {module} import {name}\n", inputs)


def plain_name(text: str) -> str:
    """Return the name of a task from that of a file, class or function: my_model of MyModel."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    plain = re.sub(r"\W+", "_", spaced).strip("_").lower()
    return plain if valid_name(plain) else f"m{plain}"


# A PyTorch module, by `metalbench import-torch`.


@dataclass(frozen=True)
class TorchSource:
    """The class `module` of a Python text, with `functions` of the text by name."""

    title: str
    text: str
    module: str
    functions: Sequence[str]
    inputs: Sequence[ExampleInput] = ()

    @property
    def name(self) -> str:
        """A name for its task."""
        return plain_name(self.title)

    def author(self, name: str, folder: Path) -> AuthoredTask:
        """Write NAME.py and a copy of the module, in the form of KernelBench's files."""
        text = self.text
        if self.module != "Model":
            text += f"\n\nModel = {self.module}\n"
        if self.inputs:
            lines = ", ".join(map(_write_tensor, self.inputs))
            text += f"\n\ndef get_inputs():\n    import torch\n\n    return [{lines}]\n"
        elif "get_inputs" not in self.functions:
            raise DeclarationError(
                f"{self.title}: expected a function get_inputs() that returns a list of example "
                f"tensors, or --input {INPUT_FORM} for each argument of forward; got neither"
            )
        if "get_init_inputs" not in self.functions:
            text += "\n\ndef get_init_inputs():\n    return []\n"
        copied = folder / f"_{name}_module.py"
        copied.write_text(text, encoding="utf-8")
        written = import_module(copied, folder, name)
        remarks = (
            [f"PyTorch is the reference; {written.why_not_mlx}"] if written.why_not_mlx else []
        )
        return AuthoredTask(
            name,
            f"the PyTorch module {self.title}",
            "the module in PyTorch's float64",
            _read_files(folder, name, copied),
            remarks=tuple(remarks),
        )


def _write_tensor(each: ExampleInput) -> str:
    sizes = ", ".join(map(str, each.shape))
    if each.dtype in FLOATS:
        return f"torch.randn({sizes})"
    return f"torch.randint(0, {MOST_INTEGER}, ({sizes},), dtype=torch.{each.dtype})"


# An MLX function, and a StableHLO program: both have a task of one form.


@dataclass
class MlxSource:
    """The function `function` of a Python text."""

    function: str
    text: str
    inputs: Sequence[ExampleInput] = ()
    _found: MlxFunction | None = None
    _kinds: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A name for its task."""
        return plain_name(self.function)

    def author(self, name: str, folder: Path) -> AuthoredTask:
        """Write NAME.py and a copy of the function's file."""
        copied = folder / f"_{name}_function.py"
        copied.write_text(self.text, encoding="utf-8")
        self._found = MlxFunction(copied, self.function)
        examples = self._examples(self._found)
        title = f"The MLX function {self.function}."
        draft = _TaskText(
            name,
            title,
            "from metalbench.reference.mlx_function import MlxFunction",
            f'_function = MlxFunction.next_to(__file__, "{copied.name}", "{self.function}")',
            "_function",
            examples,
            find_shapes(self, [each.shape for each in examples]),
        )
        remarks = draft.settle(folder / f"{name}.py")
        return AuthoredTask(
            name,
            f"the MLX function {self.function}",
            "the function's graph in float64, by NumPy",
            _read_files(folder, name, copied),
            remarks=tuple(remarks),
        )

    def probe(self, shapes: Sequence[Shape]) -> Probe:
        """Return outputs and operations for arguments of these shapes."""
        assert self._found is not None
        kinds = self._kinds
        graph = self._found.graph_at(list(zip(shapes, kinds, strict=True)))
        outputs = tuple((graph.shapes[each] or (1,), graph.types[each]) for each in graph.outputs)
        return Probe(outputs, graph.flops())

    def _examples(self, found: MlxFunction) -> list[ExampleInput]:
        arrays = list(self.inputs) or self._draw_inputs(found)
        names = [
            each.name
            for each in inspect.signature(found.function).parameters.values()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        if len(arrays) > len(names):
            raise DeclarationError(
                f"{self.function}: expected at most {len(names)} inputs ({', '.join(names)}), got "
                f"{len(arrays)}"
            )
        self._kinds = [each.dtype for each in arrays]
        return [
            ExampleInput(each.shape, each.dtype, _argument_name(each.name or name), each.values)
            for each, name in zip(arrays, names, strict=False)
        ]

    def _draw_inputs(self, found: MlxFunction) -> list[ExampleInput]:
        draw = getattr(found.module, "get_inputs", None)
        if draw is None:
            raise DeclarationError(
                f"{self.function}: expected a function get_inputs() in its file that returns a "
                f"list of example arrays, or --input {INPUT_FORM} for each argument; got neither"
            )
        try:
            arrays = [np.array(_plain(each)) for each in draw()]
        except Exception as error:  # the user's code: it may raise anything
            raise TaskError(f"get_inputs: {type(error).__name__}: {error}") from error
        kinds = {"float64": "float32", "int64": "int32"}
        return [
            ExampleInput(each.shape or (1,), kinds.get(each.dtype.name, each.dtype.name), "", each)
            for each in arrays
        ]


def _plain(array: Any) -> Any:
    """Return an array of MLX as one that NumPy reads: bfloat16 is none of its types."""
    import mlx.core as mx

    if isinstance(array, mx.array) and array.dtype in (mx.bfloat16, mx.float16):
        return array.astype(mx.float32)
    return array


def _argument_name(name: str) -> str:
    return f"{name}_" if name == "y" or re.fullmatch(r"n\d+", name) else name


@dataclass
class StableHloSource:
    """The program of a text file."""

    path: Path
    _program: Any = None

    @property
    def name(self) -> str:
        """A name for its task."""
        return plain_name(self.path.stem)

    def author(self, name: str, folder: Path) -> AuthoredTask:
        """Write NAME.py and a copy of the program."""
        from metalbench.hlo.bench.task_program import StableHloProgram, has_mlx_form

        copied = folder / f"_{name}_program.mlir"
        self._program = StableHloProgram(self.path)
        copied.write_text(self._program.text, encoding="utf-8")
        self._program = StableHloProgram(copied)
        arguments = self._program.block.arguments
        examples = [
            ExampleInput(each.type.shape or (1,), self._type(each.type), f"arg{place}")
            for place, each in enumerate(arguments)
        ]
        why = has_mlx_form(self._program)
        imported = "StableHloProgram, XlaForm" if why else "StableHloProgram"
        title = f"The StableHLO program {self.path.name}."
        draft = _TaskText(
            name,
            title,
            f"from metalbench.hlo.bench.task_program import {imported}",
            f'_program = StableHloProgram.next_to(__file__, "{copied.name}")',
            "_program.by_xla" if why else "_program",
            examples,
            find_shapes(self, [each.shape for each in examples]),
            options=[
                'baseline="XLA, by way of mlx\'s arrays"',
                "apart=XlaForm(_program)",
                'against=("eager", "apart")',
            ]
            if why
            else [],
            variable="_program",
        )
        remarks = draft.settle(folder / f"{name}.py")
        if why:
            remarks.append(f"XLA is the reference: {why}")
        fixed = self._program.fixed_extents
        if fixed - {1}:
            numbers = ", ".join(map(str, sorted(fixed - {1})))
            remarks.append(f"these extents are also numbers of the program, and stay: {numbers}")
        return AuthoredTask(
            name,
            f"the StableHLO program {self.path.name}",
            "the program with float64 in place of its floats, by XLA for the CPU",
            _read_files(folder, name, copied),
            reference=copied.name,
            remarks=tuple(remarks),
        )

    def probe(self, shapes: Sequence[Shape]) -> Probe:
        """Return outputs and operations for arguments of these shapes."""
        program = self._program
        own = [
            () if not before else after
            for before, after in zip(program.own_shapes, shapes, strict=True)
        ]
        for before, after in zip(program.own_shapes, own, strict=True):
            changed = {old for old, new in zip(before, after, strict=True) if old != new}
            if changed & program.fixed_extents:
                raise DeclarationError(f"the program uses {changed} as a number, too")
        block = program.block_at(own)
        outputs = tuple((each.type.shape or (1,), self._type(each.type)) for each in block.returned)
        return Probe(outputs, program.flops_at(own))

    def _type(self, type_: Any) -> str:
        name = "bool" if type_.element.name == "i1" else str(type_.element.numpy.name)
        if name == "float64":
            return "float32"
        if name not in DTYPES:
            raise DeclarationError(
                f"{self.path}: expected arguments and results of {', '.join(DTYPES)}, got "
                f"{type_.element.name}"
            )
        return name


def _read_files(folder: Path, name: str, copied: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (folder / f"{name}.py", copied)}


@dataclass
class _TaskText:
    """The text of a task file: the function `call` of a variable is reference and oracle."""

    name: str
    title: str
    imported: str
    assigned: str
    call: str
    examples: Sequence[ExampleInput]
    shapes: TaskShapes
    options: Sequence[str] = ()
    variable: str = "_function"

    def settle(self, target: Path) -> list[str]:
        """Write the first text that is right at all small sizes, with inputs as wide as possible.

        Return remarks for the user. Raise TaskError if nothing is right.
        """
        first = ""
        for inputs in self._list_inputs():
            try:
                target.write_text(self.write(inputs), encoding="utf-8")
                fault = _find_fault(load_task(target), self.shapes.uneven)
            except TaskError as error:
                fault = remove_local_paths(str(error).partition("\n")[0])
            if not fault:
                ways = [(1, 0.0), *WAYS]
                how, fault = find_tolerance(target, self.write(inputs), ways)
                if how is not None:
                    target.write_text(self.write(inputs, **how), encoding="utf-8")
                    return self._remark(inputs, **how)
            first = first or fault
        raise TaskError(
            f"[{self.name}] no kind of inputs that was tried gives right and finite results: "
            f"{first}. Give example inputs by get_inputs, or write the task by hand "
            "(docs/reference/tasks.md)"
        )

    def _remark(self, inputs: Sequence[str], depth: int, magnitude: float) -> list[str]:
        found = []
        if not all("normal(" in each and "only" not in each for each in inputs):
            found.append(f"inputs are drawn as {', '.join(dict.fromkeys(inputs))}")
        if (depth, magnitude) != (1, 0.0):
            found.append(
                f"errors are relative to {depth} times the result"
                + (f", or to {depth * magnitude:g} where that is more" if magnitude else "")
            )
        if self.shapes.flops is None:
            found.append("the number of operations has no expression of the sizes; it is left 0")
        if not any(isinstance(each, str) for shape in self.shapes.arguments for each in shape):
            found.append("the program takes no other shapes: every size is that of the example")
        return found

    def _list_inputs(self) -> Iterator[list[str]]:
        """Yield declarations of all inputs, the widest first."""
        choices = []
        for example, dims in zip(self.examples, self.shapes.arguments, strict=True):
            choices.append(list(self._choose(example, ", ".join(map(_write_dim, dims)))))
        # All floats are drawn from one kind, so that few combinations are tried.
        floats = [each for each, one in zip(choices, self.examples, strict=True) if _is_float(one)]
        whole = [
            each for each, one in zip(choices, self.examples, strict=True) if not _is_float(one)
        ]
        for level in range(len(FLOAT_INPUTS) if floats else 1):
            for chosen in product(*whole):
                parts, found = iter(chosen), []
                for each, one in zip(choices, self.examples, strict=True):
                    found.append(each[level] if _is_float(one) else next(parts))
                yield found

    def _choose(self, example: ExampleInput, dims: str) -> Iterator[str]:
        values = example.values
        if _is_float(example):
            spread = _write_spread(values)
            for each in FLOAT_INPUTS:
                yield each.format(dims=dims, spread=spread)
            return
        kind = example.dtype
        if kind == "bool":
            yield f'integers({dims}, high=2, dtype="bool")'
            return
        low = min(0, int(values.min())) if values is not None and values.size else 0
        high = int(values.max()) + 1 if values is not None and values.size else MOST_INTEGER
        start = f", low={low}" if low else ""
        # Indices of an axis end where it does: of the shortest one that the example fits.
        used = {each for shape in self.shapes.arguments for each in shape}
        extents = [each for each in self.shapes.sizes["seed"].items() if each[0] in used]
        extents.sort(key=lambda each: each[1])
        named = [
            f'integers({dims}{start}, high="{name}", dtype="{kind}")'
            for name, extent in (extents if values is not None else reversed(extents))
            if extent >= high or values is None
        ]
        fixed = f'integers({dims}{start}, high={high}, dtype="{kind}")'
        yield from [fixed, *named] if values is not None else [*named, fixed]

    def write(self, inputs: Sequence[str], depth: int = 1, magnitude: float = 0.0) -> str:
        """Return the text with these declarations of inputs."""
        shapes = self.shapes
        names = [each.name for each in self.examples]
        outputs = [f"y{place}" if len(shapes.outputs) > 1 else "y" for place in range(9)]
        used = {"output", "task"} | {
            each
            for each in ("integers", "normal", "positive", "uniform", "coarse", "sparse")
            if any(f"{each}(" in text for text in inputs)
        }
        arguments = ", ".join(names)
        exact = f"{self.variable}.exact({arguments})"
        lines = [f'"""{self.title}"""', "", self.imported]
        lines += [f"from metalbench.task import {', '.join(sorted(used))}"]
        scaled = (depth, magnitude) != (1, 0.0)
        lines += ["from metalbench.task.oracles import error_scale"] if scaled else []
        lines += ["", self.assigned, ""]
        lines += ["SIZES = dict("]
        for size, values in shapes.sizes.items():
            extents = ", ".join(f"{name}={value}" for name, value in values.items())
            lines.append(f"    {size}=dict({extents}),")
        lines += [")", "", "", "@task(", "    sizes=SIZES,", "    inputs=dict("]
        lines += [f"        {name}={text}," for name, text in zip(names, inputs, strict=True)]
        lines += ["    ),", "    outputs=dict("]
        for name, (dims, kind) in zip(outputs, shapes.outputs, strict=False):
            typed = "" if kind in FLOATS else f', dtype="{kind}"'
            lines.append(f"        {name}=output({', '.join(map(_write_dim, dims))}{typed}),")
        lines += ["    ),", f"    oracle=lambda {arguments}: {exact},"]
        if scaled:
            options = f"depth={depth}" + (f", magnitude={magnitude:g}" if magnitude else "")
            lines.append(f"    scale=lambda {arguments}: error_scale({exact}, {options}),")
        lines.append(f'    flops="{shapes.flops or 0}",')
        if "large" in shapes.sizes:
            lines.append('    gpu_headlines=("large",),')
        halves = {each.dtype for each in self.examples} & set(FLOATS[1:])
        if halves:
            lines.append(f'    dtypes=("float32", "{min(halves)}"),')
        if shapes.multiples:
            steps = ", ".join(f"{name}={step}" for name, step in shapes.multiples.items())
            lines.append(f"    multiples=dict({steps}),")
        if shapes.draws:
            lines += ["    # Not every size between two of them is possible."]
            lines.append(f"    draw=lambda random: SIZES[str(random.choice({shapes.draws!r}))],")
        lines += [f"    {each}," for each in self.options]
        lines += [")", f"def {self.name}({arguments}):", f"    return {self.call}({arguments})", ""]
        return "\n".join(_wrap(lines))


def _wrap(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines of at most WIDTH characters, broken after commas and plus signs."""
    for line in lines:
        if len(line) <= WIDTH or '"' in line.strip()[:1]:
            yield line
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        yield from (
            textwrap.wrap(
                line,
                WIDTH,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            if '"' not in line
            else [line]
        )


def _write_dim(each: str | int) -> str:
    return f'"{each}"' if isinstance(each, str) else str(each)


def _write_spread(values: np.ndarray[Any, Any] | None) -> str:
    """Return options of `normal` for an example whose numbers are far from the standard ones."""
    if values is None or values.size < 2:
        return ""
    mean, deviation = float(values.mean()), float(values.std())
    found = f", mean={mean:.1g}" if abs(mean) > 3 * max(deviation, 1e-6) else ""
    is_usual = deviation == 0 or 0.2 <= deviation <= 5
    return found if is_usual else f"{found}, deviation={deviation:.1g}"


def _is_float(example: ExampleInput) -> bool:
    return example.dtype in FLOATS


def _find_fault(task: Task, uneven: Sequence[Mapping[str, int]]) -> str:
    """Return why the oracle cannot judge the small and the uneven sizes; empty if it can."""
    for size in (*small_sizes(task), *map(spell_size, uneven)):
        for seed in range(task.turn if size in task.sizes else 1):
            work = workload(task, size, seed=seed)
            for name, values in work.expected.items():
                if values.dtype.kind == "f" and not np.isfinite(values).all():
                    return f"{name} at size {size}, seed {seed} is not finite"
    return ""
