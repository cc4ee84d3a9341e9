"""Run a learner's Python file: `solve` calls one kernel of `mx.fast.metal_kernel`.

The file runs in this process; its kernel runs in a separate process.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import custom_kernel
from metalbench.custom_kernel import arrays, patched_mlx
from metalbench.custom_kernel.call import Call, call
from metalbench.custom_kernel.definition import Definition, definition
from metalbench.custom_kernel.signature import Generated
from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.puzzle.candidate import Run, Tried
from metalbench.puzzle.case import Case, Counted
from metalbench.puzzle.declaration import Puzzle
from metalbench.puzzle.launched import case_of
from metalbench.task.workload import workload

Array = np.ndarray[Any, Any]
Launched = Callable[[Definition, Call], list[Array]]
FUNCTION = "solve"


class PythonFile:
    """A file whose function `solve` takes the puzzle's inputs and sizes, and returns its output."""

    def __init__(self, puzzle: Puzzle, path: Path) -> None:
        self.path = path
        self._puzzle = puzzle
        self._cases: dict[str, Case] = {}

    def case(self, size: str) -> Case | None:
        """Return the launch of the run at this size."""
        return self._cases.get(size)

    def run_at(self, size: str, run: Run) -> Tried:
        """Load the file, call `solve`, and record its launch and its result."""
        done: list[Counted] = []

        def launched(defined: Definition, made: Call) -> list[Array]:
            if done:
                raise self._error("expected one launch of one kernel, got a second one")
            generated = Generated(defined, made.variant)
            case = case_of(generated, made, self._puzzle.name, self.path, size)
            self._cases[size] = case
            done.append(run(case))
            return [done[0].outputs[name] for name in defined.output_names]

        with _kernels_are(launched):
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

    from metalbench.custom_kernel.replacement import replace_attributes

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
        replace_attributes(custom_kernel, metal_kernel=metal_kernel),
    ):
        yield
