"""Workloads: the inputs of a task at one size, element type and seed, with expected outputs."""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from metalbench.errors import TaskError
from metalbench.task.declaration import Task
from metalbench.task.dtypes import DType, dtype

# The size of the cache of workloads with their expected outputs.
KEPT_BYTES = 256 << 20
# A trial draws fewer. Their bytes are summed for each workload that is asked for.
MOST_KEPT = 64
# Up to this number of elements, `sample_places` caches its last results.
MOST_PLACES = 1 << 24
# A generous bound for the error of a correct result, in roundoffs of its scale.
ROUNDOFFS = 16

Arrays = Mapping[str, np.ndarray[Any, Any]]
# The id of a task, a size, an element type and a seed.
Key = tuple[int, str, str, int]


@dataclass(frozen=True)
class Workload:
    """The inputs of `task` at one size, element type and seed. They are reproducible."""

    task: Task
    size: str
    dtype: DType
    seed: int
    inputs: Arrays

    @cached_property
    def values(self) -> dict[str, int]:
        """Sizes and integer constants by name."""
        return self.task.values(self.size)

    @cached_property
    def output_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every output."""
        return {name: each.shape_at(self.values) for name, each in self.task.outputs.items()}

    @property
    def variation(self) -> str:
        """The variations of the inputs, such as "x shifted by 100"; empty for plain inputs."""
        varied = [(name, each.variation(self.seed)) for name, each in self.task.inputs.items()]
        return ", ".join(f"{name} {each.name}" for name, each in varied if each)

    def widen_inputs(self, kind: type[np.floating[Any]]) -> dict[str, Any]:
        """Return the inputs, floats as `kind` (at least float32), and the constants."""
        wide: dict[str, Any] = {}
        for name, array in self.inputs.items():
            is_float = self.task.inputs[name].type_in(self.dtype).is_float
            wide[name] = array.astype(kind, copy=False) if is_float else array
        return {**wide, **self.task.constants}

    @cached_property
    def expected(self) -> dict[str, np.ndarray[Any, Any]]:
        """The oracle's outputs, float64 or integer; infinite far beyond the range of their type.

        A judge of the size replaces the oracle. Raise TaskError for shapes that differ from the
        declared ones.
        """
        judge = self.task.judges.get(self.size)
        if judge is not None:
            return dict(judge(self))
        results = self._compute("oracle", self.task.oracle, self.widen_inputs(np.float64))
        return {name: self._replace_overflow(name, each) for name, each in results.items()}

    def _replace_overflow(self, name: str, exact: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Replace results by infinities where no rounding error keeps them in the type's range."""
        kind = self.task.outputs[name].type_in(self.dtype)
        if not kind.is_float or not exact.size:
            return exact
        # Python's floats: an oracle's array may be of a type in which the limit overflows.
        if float(exact.max()) < kind.overflows and float(exact.min()) > -kind.overflows:
            return exact
        scale = exact if self.task.scale is None else self.scale[name]
        with np.errstate(invalid="ignore", over="ignore"):  # what is infinite already
            least = np.abs(exact) - ROUNDOFFS * kind.roundoff * np.abs(scale)
        return np.where(least >= kind.overflows, np.copysign(np.inf, exact), exact)

    @cached_property
    def by_oracle(self) -> Workload:
        """The same inputs, with the oracle as the judge at every size."""
        return replace(self, task=replace(self.task, judges={}))

    @cached_property
    def scale(self) -> dict[str, np.ndarray[Any, Any]]:
        """The scale of rounding errors: the task's `scale`, else the expected values."""
        if self.task.scale is None:
            return self.expected
        return self._compute("scale", self.task.scale, self.widen_inputs(np.float32))

    def _compute(
        self, what: str, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> dict[str, np.ndarray[Any, Any]]:
        try:
            results = function(**arguments)
        except Exception as error:  # the user's code: whatever it raises is its fault
            cause = f"{type(error).__name__}: {error}"
            where = f"[{self.task.name}] {what} at size {self.size}"
            raise TaskError(
                f"{where}: expected {', '.join(self.task.outputs)}, got {cause}"
            ) from error
        several = results if isinstance(results, tuple) else (results,)
        if len(several) != len(self.task.outputs):
            raise TaskError(
                f"[{self.task.name}] {what}: expected {len(self.task.outputs)} outputs, "
                f"got {len(several)}"
            )
        named = {}
        for (name, shape), each in zip(self.output_shapes.items(), several, strict=True):
            array = np.ascontiguousarray(each)  # compared many times, as flat chunks
            if array.shape != shape:
                raise TaskError(
                    f"[{self.task.name}] {what}: {name} at size {self.size}: "
                    f"expected {shape}, got {array.shape}"
                )
            array.flags.writeable = False
            named[name] = array
        return named

    def mix_with(self, other: Workload) -> Workload:
        """Return the inputs with one of eight elements replaced by those of `other`.

        The first and last elements stay: a kernel cannot recognise the change by them.
        """
        inputs = {}
        for name, mine in self.inputs.items():
            if self.task.inputs[name].together:
                inputs[name] = mine
                continue
            taken = sample_places(mine.size)
            values = np.where(taken.reshape(mine.shape), other.inputs[name], mine)
            values.flags.writeable = False
            inputs[name] = values
        return replace(self, inputs=inputs)

    @property
    def nbytes(self) -> int:
        """Memory of everything computed so far."""
        held = (self.inputs, self.__dict__.get("expected", {}), self.__dict__.get("scale", {}))
        exact = self.__dict__.get("by_oracle")
        further = exact.nbytes if exact is not None else 0
        # What is expected may be the scale, too.
        arrays = {id(array): array.nbytes for each in held for array in each.values()}
        return further + sum(arrays.values())


def sample_places(count: int) -> np.ndarray[Any, Any]:
    """Return a boolean array with one of eight places set, but not the first and last ones."""
    return _places(count) if count <= MOST_PLACES else _places.__wrapped__(count)


@lru_cache(maxsize=2)
def _places(count: int) -> np.ndarray[Any, Any]:
    random = np.random.Generator(np.random.Philox(count))
    ends = min(16, count // 4)
    chosen = np.frombuffer(random.bytes(count), np.uint8) < 256 // 8
    chosen[:ends] = chosen[count - ends :] = False
    if not chosen.any():
        chosen[count // 2] = True
    chosen.flags.writeable = False
    return chosen


def workload(task: Task, size: str, *, dtype_name: str = "float32", seed: int = 0) -> Workload:
    """Draw the inputs of `task`; the same arguments give the same bits on every machine.

    Recent workloads are cached together with their expected outputs. Raise DeclarationError for an
    unknown size or an element type that the task lacks.
    """
    task.check_dtype(dtype_name)
    key = (id(task), size, dtype_name, seed)
    with _keeping:
        turn = _turns.setdefault(key, threading.Lock())
    with turn:
        try:
            with _keeping:
                found = _recent.pop(key, None)
                if found is not None:
                    _keep(key, found)
                    return found
            found = _draw(task, size, dtype_name, seed)
            with _keeping:
                _keep(key, found)
                return found
        finally:
            with _keeping:
                if _turns.get(key) is turn:
                    del _turns[key]


def keep_workloads(most_bytes: int) -> None:
    """Let the cache of recent workloads take `most_bytes`, in this process.

    A search that verifies many candidates on the same large inputs then runs each oracle once.
    """
    global KEPT_BYTES  # noqa: PLW0603 - a process has one cache
    KEPT_BYTES = most_bytes


def _keep(key: Key, found: Workload) -> None:
    _recent[key] = found
    while len(_recent) > MOST_KEPT:
        _recent.pop(next(iter(_recent)))
    while len(_recent) > 1 and sum(each.nbytes for each in _recent.values()) > KEPT_BYTES:
        _recent.pop(next(iter(_recent)))


# The workload holds its task, so that no other task gets the same id.
_recent: dict[Key, Workload] = {}
# Verification draws the next workload in another thread. A request for the same workload waits for
# this thread.
_keeping = threading.Lock()
_turns: dict[Key, threading.Lock] = {}


def _draw(task: Task, size: str, dtype_name: str, seed: int) -> Workload:
    values, run = task.values(size), dtype(dtype_name)
    inputs: dict[str, np.ndarray[Any, Any]] = {}
    for name, each in task.inputs.items():
        key = f"{task.name}/{each.stream or name}/{size}/{seed}".encode()
        entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))
        if each.compute is None:
            drawn = each.draw_array(random, values, seed)
        else:
            drawn = each.compute(**_widen(task, run, inputs, each.compute))
        inputs[name] = drawn.astype(each.type_in(run).numpy, copy=False)
        inputs[name].flags.writeable = False
    return Workload(task, size, run, seed, inputs)


def _widen(
    task: Task, run: DType, inputs: Arrays, function: Callable[..., Any]
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the inputs that are parameters of `function`, floats in float64."""
    wide = {}
    for name in inspect.signature(function).parameters:
        is_float = task.inputs[name].type_in(run).is_float
        wide[name] = inputs[name].astype(np.float64) if is_float else inputs[name]
    return wide
