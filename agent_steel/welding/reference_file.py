"""The user's own Python that says what is right: a function, or a task file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from metalbench.errors import TaskError, suggestion
from metalbench.task import Task
from metalbench.task.workload import Workload

Array = np.ndarray[Any, Any]


def results_of(path: Path, function: str) -> Callable[[Workload], dict[str, Array]]:
    """Return a function that computes outputs of a workload by the file `path`, in float64.

    Raise TaskError if the file cannot be imported or has no such function.
    """
    module = _import(path)
    chosen = _choose(module, path, function)
    if isinstance(chosen, Task):
        return _Caller(path, chosen.oracle, mlx=False)
    return _Caller(path, chosen, mlx=_uses_mlx(module))


def _import(path: Path) -> ModuleType:
    name = f"metalbench_reference.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"reference {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is its fault
        raise TaskError(f"reference {path}: {type(error).__name__}: {error}") from error
    return module


def _choose(module: ModuleType, path: Path, name: str) -> Any:
    known = {
        each: value
        for each, value in vars(module).items()
        if isinstance(value, Task)
        or (inspect.isfunction(value) and value.__module__ == module.__name__)
    }
    public = [each for each in known if not each.startswith("_")]
    if not name and len(public) == 1:
        return known[public[0]]
    if name in known:
        return known[name]
    if not name:
        raise TaskError(
            f"reference {path}: expected one function, got {', '.join(public) or 'none'}; "
            f"name one as {path.name}:FUNCTION"
        )
    raise TaskError(f"reference {path}: no function {name!r}; {suggestion(name, known)}")


def _uses_mlx(module: ModuleType) -> bool:
    values = vars(module).values()
    named = (getattr(each, "__name__", "") for each in values if inspect.ismodule(each))
    return any(name.partition(".")[0] == "mlx" for name in named)


class _Caller:
    """Calls a function with a workload's inputs, as float64 of NumPy or of MLX."""

    def __init__(self, path: Path, function: Callable[..., Any], *, mlx: bool) -> None:
        self._path = path
        self._function = function
        self._mlx = mlx

    def __call__(self, work: Workload) -> dict[str, Array]:
        arguments = work.widen_inputs(np.float64)
        try:
            results = self._by_mlx(arguments) if self._mlx else self._call(arguments)
        except Exception as error:  # the user's code: whatever it raises is its fault
            where = f"reference {self._path} at size {work.size}"
            raise TaskError(f"{where}: {type(error).__name__}: {error}") from error
        several = results if isinstance(results, (tuple, list)) else (results,)
        if len(several) != len(work.task.outputs):
            raise TaskError(
                f"reference {self._path} has {len(several)} outputs, and the task "
                f"{len(work.task.outputs)}: {', '.join(work.task.outputs)}"
            )
        return {
            name: np.asarray(each) for name, each in zip(work.task.outputs, several, strict=True)
        }

    def _call(self, arguments: Mapping[str, Any]) -> Any:
        """By name where the names are those of the task, else in order."""
        names = inspect.signature(self._function).parameters
        if set(names) >= set(arguments):
            return self._function(**arguments)
        return self._function(*arguments.values())

    def _by_mlx(self, arguments: Mapping[str, Any]) -> Any:
        import mlx.core as mx

        # Only the CPU of MLX knows float64.
        with mx.stream(mx.cpu):
            given = {
                name: mx.array(each, dtype=mx.float64 if each.dtype == np.float64 else None)
                if isinstance(each, np.ndarray)
                else each
                for name, each in arguments.items()
            }
            results = self._call(given)
            several = results if isinstance(results, (tuple, list)) else (results,)
            mx.eval(several)
            return tuple(np.array(each) for each in several)
