"""Run a candidate at one size, counted and checked, in a separate process."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from metalbench import _core, mlx
from metalbench.checking.check import CheckSubject, check_subject
from metalbench.checking.findings import TOOLS, CheckFinding, Findings, Frame
from metalbench.errors import DeclarationError, MetalBenchError, TaskError
from metalbench.expression import Expression, parse
from metalbench.kernel import header
from metalbench.kernel.header import Dispatch, Kernel
from metalbench.kernel.prepare import compile_kernel, evaluate_extents
from metalbench.mlx import call as arrays
from metalbench.mlx import patched_mlx
from metalbench.mlx.call import Call, call
from metalbench.mlx.definition import PRELUDE, Definition, Generated, definition
from metalbench.profiling import Profile
from metalbench.profiling.profiler import read_profile
from metalbench.puzzle.puzzle import Puzzle
from metalbench.task import Input, Task
from metalbench.task.dtypes import DTYPES, DType
from metalbench.task.inputs import Array as Declared
from metalbench.task.workload import workload

Array = np.ndarray[Any, Any]
Launch = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Text:
    """A part of a source with the name `name` for the compiler, after `lines` of the file."""

    name: str
    file: Path
    lines: int


@dataclass(frozen=True)
class PuzzleCase:
    """A kernel, the task of its arguments, and the size to run.

    `texts` map parts of the source to the files that they come from.
    """

    kernel: Kernel
    task: Task
    size: str
    texts: tuple[Text, ...] = ()

    def launch(self) -> Launch:
        """Return the threads of the grid and of a threadgroup, in three dimensions.

        Raise DeclarationError unless the kernel is dispatched once.
        """
        lines = self.kernel.dispatches
        if len(lines) != 1:
            raise DeclarationError(
                f"[{self.kernel.name}] {self.kernel.path.name}: expected one `// dispatch:` line, "
                f"got {len(lines)}"
            )
        (line,) = lines
        where = f"[{self.kernel.name}] dispatch"
        values = self.kernel.add_named_sizes(self.task.values(self.size))
        threads = evaluate_extents(line.threads, values, where)
        if line.threads_in_grid is None:
            groups = evaluate_extents(line.threadgroups or (), values, where)
            return tuple(a * b for a, b in zip(groups, threads, strict=True)), threads
        grid = evaluate_extents(line.threads_in_grid, values, where)
        # As MLX has it, a threadgroup is no larger than the grid.
        return grid, tuple(map(min, threads, grid))

    def run_counted(self, device: _core.Device, *, traced: int, time_limit: float) -> CountedRun:
        """Run a counted build once; raises CompileError and the device's errors."""
        compiled = compile_kernel(device, self.kernel, self.task, counted=True, traced=traced)
        bound = compiled.bind(workload(self.task, self.size))
        bound.poison()
        device.run(bound.dispatches, time_limit=time_limit)
        return CountedRun(
            read_profile(compiled, bound),
            {name: bound.read(name).copy() for name in bound.outputs},
            {name: each.unwritten() for name, each in bound.outputs.items()},
        )

    def findings(self, device: _core.Device, *, time_limit: float) -> Findings:
        """Return all that a checked build finds."""
        subject = CheckSubject(self.kernel, self.task, (self.size,))
        return check_subject(
            subject, device, TOOLS, time_limit=time_limit, relocate=self._map_lines
        )

    def _map_lines(self, finding: CheckFinding) -> CheckFinding:
        """Return a finding with the lines of the files that the source was taken from."""
        if not self.texts:
            return finding
        return replace(finding, frames=tuple(map(self._frame, finding.frames)))

    def _frame(self, frame: Frame) -> Frame:
        for text in self.texts:
            if frame.file == text.name:
                return replace(frame, file=str(text.file), line=frame.line + text.lines)
        # A line of the generated signature is not in the file; the source is nearest.
        text = self.texts[-1]
        return replace(frame, file=str(text.file), line=text.lines + 1, column=0)


@dataclass(frozen=True)
class CountedRun:
    """The result of a counted run: profile, outputs, and masks of unwritten elements."""

    profile: Profile
    outputs: Mapping[str, Array]
    unwritten: Mapping[str, Array]


def check_launch(case: PuzzleCase, expected: Launch) -> None:
    """Raise DeclarationError unless a kernel is launched as its puzzle says."""
    got = case.launch()
    if got != expected:
        raise DeclarationError(
            f"[{case.kernel.name}] launch at size {case.size}: "
            f"expected {_format_launch(expected)}, got {_format_launch(got)}; "
            "the number of threads is part of the puzzle"
        )


def _format_launch(launch: Launch) -> str:
    grid, threads = launch
    shape = " x ".join(map(str, threads))
    return f"{prod(grid):,} threads ({' x '.join(map(str, grid))}) in threadgroups of {shape}"


# Candidates of a learner: the kernel of a `.metal` file, or its text.

Run = Callable[[PuzzleCase], CountedRun]


@dataclass(frozen=True)
class Tried:
    """A candidate at one size: the launched case, its counts, and the answer to judge."""

    case: PuzzleCase
    counted: CountedRun
    answer: Array


class PuzzleCandidate(Protocol):
    """The solution of a learner."""

    path: Path

    def run_at(self, size: str, run: Run) -> Tried:
        """Run it at a size of the puzzle; raise the errors of `run`, and DeclarationError."""

    def case(self, size: str) -> PuzzleCase | None:
        """Return the launch at a size; None if it is unknown because nothing has run yet."""


class MetalFile:
    """A kernel in MSL, with the arguments of the puzzle's skeleton."""

    def __init__(self, puzzle: Puzzle, kernel: Kernel) -> None:
        self.path = kernel.path
        self._puzzle = puzzle
        self._kernel = kernel

    def case(self, size: str) -> PuzzleCase:
        """Return the kernel with the puzzle's own task."""
        return PuzzleCase(self._kernel, self._puzzle.task, size)

    def run_at(self, size: str, run: Run) -> Tried:
        """Run it at a size of the puzzle."""
        case = self.case(size)
        counted = run(case)
        (answer,) = counted.outputs.values()
        return Tried(case, counted, answer)


# Convert a launch of an `mx.fast.metal_kernel` kernel into a kernel with a task.

_EXTENTS = {"shape": np.int32, "strides": np.int64, "ndim": np.int32}


def case_of(generated: Generated, made: Call, name: str, path: Path, size: str) -> PuzzleCase:
    """Return the generated kernel, and a task that draws what this call gave it.

    Findings refer to lines of the Python file at `path`.
    Raise DeclarationError for an empty grid, and for outputs that begin with a value.
    """
    defined = generated.definition
    if 0 in made.threads_in_grid:
        raise DeclarationError(f"[{name}] grid: expected threads, got {made.threads_in_grid}")
    if made.init_value is not None:
        raise DeclarationError(
            f"[{name}] init_value: expected none, for the kernel is to write every element"
        )
    dispatch = Dispatch(
        function=generated.name,
        threads=_shape(made.threads),
        threadgroups=None,
        threads_in_grid=_shape(made.threads_in_grid),
        threadgroup_bytes={},
        line=1,
    )
    kernel = Kernel(
        name=name,
        path=path,
        source=generated.unit,
        chip=None,
        description="",
        dispatches=(dispatch,),
        math="safe" if defined.math_mode == "safe" else "fast",
        include_dirs=(PRELUDE,),
    )
    task = _task(name, size, dict(_iterate_inputs(generated, made)), defined, made)
    return PuzzleCase(kernel, task, size, tuple(_texts(generated, path)))


def _texts(generated: Generated, path: Path) -> Iterator[Text]:
    """Yield the places of header and source in the file, if they occur there verbatim."""
    whole = path.read_text(encoding="utf-8")
    parts = {"header": generated.definition.header, "source": generated.definition.source}
    for part, text in parts.items():
        start = whole.find(text) if text.strip() else -1
        if start >= 0:
            yield Text(generated.file(part), path, whole.count("\n", 0, start))


def _iterate_inputs(generated: Generated, made: Call) -> Iterator[tuple[str, Array]]:
    for name, each in zip(generated.definition.input_names, made.inputs, strict=True):
        yield name, each.memory.reshape(-1)
        for what in generated.extents(name, each.passing):
            yield f"{name}_{what}", np.frombuffer(each.extent(what), _EXTENTS[what])


def _task(
    name: str, size: str, given: Mapping[str, Array], defined: Definition, made: Call
) -> Task:
    def nothing_to_compare(**_: Any) -> NoReturn:
        raise TaskError(f"[{name}] what is right is said by the puzzle's own task")

    outputs = zip(defined.output_names, made.shapes, made.types, strict=True)
    return Task(
        name=name,
        description="",
        sizes={size: {}},
        inputs={each: _input(array) for each, array in given.items()},
        outputs={
            each: Declared(_shape(shape or (1,)), _dtype(kind.numpy))
            for each, shape, kind in outputs
        },
        reference=nothing_to_compare,
        oracle=nothing_to_compare,
        scale=None,
        constants={},
        dtypes=("float32",),
        headline=size,
        gpu_headlines=(size,),
        baseline="",
        flops_expression=parse(0),
    )


def _input(array: Array) -> Input:
    def copy_array(kept: Array, *_: object) -> Array:
        return kept.copy()

    return Input(_shape(array.shape), _dtype(array.dtype), "given", partial(copy_array, array))


def _shape(extents: tuple[int, ...]) -> tuple[Expression, ...]:
    return tuple(map(parse, extents))


def _dtype(dtype: np.dtype[Any]) -> DType:
    """Return the element type, also of those that tasks do not have."""
    return DTYPES.get(dtype.name) or DType(dtype.name, dtype.name, dtype.itemsize)


# Run a learner's Python file: `solve` calls one kernel of `mx.fast.metal_kernel`.
#
# The file runs in this process; its kernel runs in a separate process.

Launched = Callable[[Definition, Call], list[Array]]
FUNCTION = "solve"


class PythonFile:
    """A file whose function `solve` takes the puzzle's inputs and sizes, and returns its output."""

    def __init__(self, puzzle: Puzzle, path: Path) -> None:
        self.path = path
        self._puzzle = puzzle
        self._cases: dict[str, PuzzleCase] = {}

    def case(self, size: str) -> PuzzleCase | None:
        """Return the launch of the run at this size."""
        return self._cases.get(size)

    def run_at(self, size: str, run: Run) -> Tried:
        """Load the file, call `solve`, and record its launch and its result."""
        done: list[CountedRun] = []

        def record_launch(defined: Definition, made: Call) -> list[Array]:
            if done:
                raise self._error("expected one launch of one kernel, got a second one")
            generated = Generated(defined, made.variant)
            case = case_of(generated, made, self._puzzle.name, self.path, size)
            self._cases[size] = case
            done.append(run(case))
            return [done[0].outputs[name] for name in defined.output_names]

        with _kernels_are(record_launch):
            answer = self._call_solve(size)
        if not done:
            raise self._error("expected it to call a kernel of mx.fast.metal_kernel, got no launch")
        return Tried(self._cases[size], done[0], answer)

    def _call_solve(self, size: str) -> Array:
        import mlx.core as mx

        solve = self._load().get(FUNCTION)
        if not callable(solve):
            raise self._error(f"expected a function {FUNCTION}(), got none")
        work = workload(self._puzzle.task, size)
        offered: dict[str, Any] = {name: mx.array(each) for name, each in work.inputs.items()}
        offered |= work.values
        result = self._own(partial(solve, **self._select_arguments(solve, offered)))
        if isinstance(result, (list, tuple)) and len(result) == 1:
            (result,) = result
        (shape,) = work.output_shapes.values()
        answer = arrays.as_numpy(result, f"[{self._puzzle.name}] what {FUNCTION} returns")
        if answer.shape != shape:
            raise self._error(f"expected {FUNCTION} to return shape {shape}, got {answer.shape}")
        return answer

    def _select_arguments(
        self, solve: Callable[..., Any], offered: Mapping[str, Any]
    ) -> dict[str, Any]:
        parameters = inspect.signature(solve).parameters.values()
        unknown = [each.name for each in parameters if each.name not in offered]
        if unknown:
            known = ", ".join(offered)
            raise self._error(f"{FUNCTION}: expected some of ({known}), got {unknown[0]!r}")
        return {each.name: offered[each.name] for each in parameters}

    def _load(self) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": self.path.stem, "__file__": str(self.path)}

        def load() -> None:
            exec(compile(self.path.read_bytes(), str(self.path), "exec"), names)

        self._own(load)
        return names

    def _own(self, code: Callable[[], Any]) -> Any:
        """Return the result of the learner's code; add the line to its errors."""
        try:
            return code()
        except MetalBenchError:
            raise
        except SyntaxError as error:
            raise self._error(f"line {error.lineno}: SyntaxError: {error.msg}") from error
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [each.lineno for each in frames if each.filename == str(self.path)]
            where = f"line {lines[-1]}: " if lines else ""
            raise self._error(f"{where}{type(error).__name__}: {error}") from error

    def _error(self, message: str) -> DeclarationError:
        return DeclarationError(f"[{self._puzzle.name}] {self.path.name}: {message}")


class _Kernel:
    """A replacement of an MLX kernel: calls go to `launched`."""

    def __init__(self, defined: Definition, launched: Launched) -> None:
        self._definition = defined
        self._launched = launched

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_dtypes: Sequence[Any],
        verbose: bool = False,
        stream: Any = None,
        **asked: Any,
    ) -> list[Any]:
        made = call(self._definition, inputs=inputs, output_dtypes=output_dtypes, **asked)
        if verbose:
            print(Generated(self._definition, made.variant).text)
        found = self._launched(self._definition, made)
        as_mlx = arrays.returns_mlx(inputs, output_dtypes)
        return [arrays.to_mlx(each) for each in found] if as_mlx else found


@contextmanager
def _kernels_are(launched: Launched) -> Iterator[None]:
    """Whatever the file calls `metal_kernel` makes kernels that are launched so."""
    import mlx.core as mx

    from metalbench.mlx.replacement import replace_attributes

    def metal_kernel(  # noqa: PLR0917 - MLX's order
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
        compile_options: Mapping[str, str] | None = None,
        **_: Any,
    ) -> _Kernel:
        defined = definition(
            name,
            input_names,
            output_names,
            source,
            header,
            ensure_row_contiguous=ensure_row_contiguous,
            atomic_outputs=atomic_outputs,
            compile_options=compile_options,
        )
        return _Kernel(defined, launched)

    with (
        patched_mlx(device="cpu"),
        replace_attributes(mx.fast, metal_kernel=metal_kernel),
        replace_attributes(sys.modules["metalbench"], metal_kernel=metal_kernel),
        replace_attributes(mlx, metal_kernel=metal_kernel),
    ):
        yield


# Candidates: a `.metal` file, its text, or a Python file over `mx.fast.metal_kernel`.


def read_candidate(puzzle: Puzzle, file: Path | str) -> PuzzleCandidate:
    """Read a candidate from a file, or from the text of a kernel, which has several lines.

    Raise DeclarationError for a missing file or an unknown file extension.
    """
    if isinstance(file, str) and "\n" in file:
        return MetalFile(puzzle, header.parse(file, name=puzzle.name))
    path = Path(file)
    if not path.is_file():
        raise DeclarationError(
            f"{path}: there is no such file; `metalbench puzzles start {puzzle.number}` writes one "
            "to begin with"
        )
    if path.suffix == ".metal":
        return MetalFile(puzzle, header.read(path, puzzle.name))
    if path.suffix == ".py":
        return PythonFile(puzzle, path)
    raise DeclarationError(f"{path}: expected a .metal or a .py file")
