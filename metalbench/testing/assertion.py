"""The result of checking one kernel."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import (
    CompileError,
    DeclarationError,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
    suggestion,
)
from metalbench.mlx import patched_mlx
from metalbench.mlx.call import as_numpy, is_mlx
from metalbench.mlx.definition import narrow
from metalbench.task.dtypes import DTYPES, DType
from metalbench.testing.launch import (
    BoundLaunch,
    Build,
    Grid,
    KernelSource,
    Size,
    bind,
    buffers_of,
    dtype_of,
    read_inputs,
    read_source,
)
from metalbench.verify import Comparison, Finding, Kind
from metalbench.verify import tolerance as error_rule
from metalbench.verify.explanation import describe_mismatch
from metalbench.verify.report import make_finding
from metalbench.verify.tolerance import ErrorNorms, OutputTolerance

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Checked:
    """A kernel's findings and outputs; `str` of it is what a failed assertion shows.

    `findings` are defects, each with its `place` (file, line, buffer, thread). `outputs` are those
    of the last run, empty if none ended. `comparisons` compare each output with the expected one.
    `skipped` lists checks that are not possible here.
    """

    kernel: str
    findings: tuple[Finding, ...] = ()
    outputs: Mapping[str, Array] = field(default_factory=dict, repr=False)
    comparisons: tuple[Comparison, ...] = ()
    skipped: tuple[str, ...] = ()
    source: KernelSource | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def with_judged(
        self,
        outputs: Mapping[str, Array],
        judged: Sequence[tuple[Comparison | None, Finding | None]],
    ) -> Checked:
        """Return the same with outputs, and what comparing them with the expected ones gave."""
        return replace(
            self,
            outputs=outputs,
            comparisons=tuple(compared for compared, _ in judged if compared is not None),
            findings=tuple(wrong for _, wrong in judged if wrong is not None),
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.kernel}: {'correct' if self.passed else 'not correct'}"
        for finding in self.findings:
            yield indent(str(finding), "  ")
            yield from self._line_of(finding)
        for each in self.skipped:
            yield f"  not checked: {each}"

    def _line_of(self, finding: Finding) -> Iterator[str]:
        """Yield the line of the source, where the message does not show it already."""
        place = finding.place
        if self.source is None or place.line is None or "\n" in finding.message:
            return
        text = self.source.line(place.line)
        if text and place.file == self.source.filename:
            yield f"    {place.line:5} | {text.strip()}"


# Expected outputs of a kernel and their tolerances.

# A reference in float32 is taken to be this many roundoffs of its largest number off, or more where
# it is seen to be: sums in another order differ by as much.
ROUNDOFFS = 8
# Below the least difference of two float32 numbers: only what is equal is within.
_EXACT = 2.0**-150


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= atol + rtol |expected| everywhere; None for both is the error rule."""

    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Expected:
    """One output: float64 or integers, and, of a function, what it makes of float32 inputs."""

    values: Array
    single: Array | None = None

    def round_to(self, dtype: np.dtype[Any]) -> Expected:
        """Return the values that fit `dtype`: values beyond its range are infinite."""
        if not _is_float(dtype):
            return replace(self, values=_integers(self.values, dtype))
        wide = self.values.astype(np.float64)
        with np.errstate(over="ignore"):
            stored = wide.astype(dtype).astype(np.float64)
        return replace(self, values=np.where(np.isinf(stored), stored, wide))

    def allowance(self, dtype: np.dtype[Any], tolerance: Tolerance) -> OutputTolerance:
        """Return the allowed error of an output of this dtype."""
        if tolerance.rtol is not None or tolerance.atol is not None:
            fixed = max(tolerance.atol or 0.0, _EXACT)
            return OutputTolerance(fixed, tolerance.rtol or 0.0, math.inf)
        kind = DTYPES.get(dtype.name, DType(dtype.name, "", dtype.itemsize))
        return error_rule.derive_tolerance(self.values, self._yardstick(), kind)

    def _yardstick(self) -> ErrorNorms:
        least = ROUNDOFFS * DTYPES["float32"].roundoff
        finite = np.abs(self.values[np.isfinite(self.values)].astype(np.float64))
        if not finite.size:
            return ErrorNorms(0.0, 0.0)
        seen = ErrorNorms(0.0, 0.0)
        if self.single is not None:
            seen = error_rule.measure_error_norms(self.values, self.single, self.values)
        rms = float(np.sqrt(np.square(finite).mean()))
        return ErrorNorms(max(seen.largest, least * finite.max()), max(seen.rms, least * rms))


def compute_expected(
    expected: object, inputs: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Expected]:
    """Return the expected outputs by name.

    `expected` is {name: array}, an array or a tuple of them in the order of `names`, or a function
    that returns one of these. A function gets the inputs that its parameters name; if it names
    none, all arrays in order. It is called with float64, and once more with float32.

    Raise DeclarationError if there are not as many results as outputs.
    """
    if not callable(expected):
        return {name: Expected(each) for name, each in _name_outputs(expected, names).items()}
    exact = _name_outputs(_call(expected, inputs, np.float64), names)
    single = _name_outputs(_call(expected, inputs, np.float32), names)
    return {name: Expected(each, single[name]) for name, each in exact.items()}


def _name_outputs(results: object, names: Sequence[str]) -> dict[str, Array]:
    if isinstance(results, Mapping):
        return {name: _array(each, name) for name, each in results.items()}
    several = results if isinstance(results, (tuple, list)) else (results,)
    if isinstance(results, list) and len(names) == 1 and not _holds_arrays(results):
        several = (results,)
    if len(several) != len(names):
        listed = ", ".join(names) or "none"
        raise DeclarationError(
            f"expected: expected an array for each output ({listed}), got {len(several)}; "
            "give them by name: {'y': ...}"
        )
    return {name: _array(each, name) for name, each in zip(names, several, strict=True)}


def _holds_arrays(several: Sequence[object]) -> bool:
    return any(isinstance(each, np.ndarray) or is_mlx(each) for each in several)


def _array(value: object, name: str) -> Array:
    array = as_numpy(value, f"expected: {name}") if is_mlx(value) else np.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise DeclarationError(f"expected: {name}: expected real numbers, got {array.dtype}")
    return np.ascontiguousarray(array)


def _call(
    function: Callable[..., Any], inputs: Mapping[str, Any], kind: type[np.floating[Any]]
) -> Any:
    wide = {name: _widen(value, kind) for name, value in inputs.items()}
    wanted = _select_named(function, wide)
    if wanted:
        return function(**wanted)
    return function(*(each for each in wide.values() if isinstance(each, np.ndarray)))


def _select_named(function: Callable[..., Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that the function's parameters name."""
    if isinstance(function, np.ufunc):  # its parameters, such as `out`, are not inputs
        return {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions in C have none
        return {}
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return dict(inputs)
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = {each.name for each in parameters if each.kind in by_name}
    return {name: value for name, value in inputs.items() if name in names}


def _widen(value: Any, kind: type[np.floating[Any]]) -> Any:
    if is_mlx(value):
        value = as_numpy(value, "inputs")
    if isinstance(value, np.ndarray) and _is_float(value.dtype):
        return value.astype(kind)
    return value


def _integers(values: Array, dtype: np.dtype[Any]) -> Array:
    if _is_float(values.dtype):
        whole = values.astype(dtype)
        if not np.array_equal(whole, values):
            raise DeclarationError(
                f"expected: expected integers as the kernel's {dtype}, got floats"
            )
        return whole
    return values


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


# Judge the outputs and the memory that a kernel wrote.


def memory_findings(
    kernel: str, bound: BoundLaunch, written: Mapping[str, object]
) -> Iterator[Finding]:
    """Writes outside of buffers, and to inputs that are not in `written`."""
    for name, memory in bound.memories.items():
        where = memory.broken_guard()
        if where:
            shape = f"{memory.dtype.name} {memory.shape}"
            message = f"[{kernel}] {name}: the kernel wrote outside of {shape}, {where}"
            yield Finding(Kind.GUARD_ZONE, message, output=name)
    for name, array in bound.arrays.items():
        if name not in written and not bound.memories[name].holds(array):
            message = (
                f"[{kernel}] {name}: the kernel changed its input; declare it `device const`, or "
                "say what is expected in it"
            )
            yield Finding(Kind.INPUT_CHANGED, message, output=name)


def judge(
    where: str,
    got: Array,
    expected: Expected,
    tolerance: Tolerance,
    *,
    unwritten: Array,
    inputs: Mapping[str, Array],
) -> tuple[Comparison | None, Finding | None]:
    """Compare one output, called `where` ("[kernel] name"), with what was expected of it."""
    kernel, _, name = where.rpartition(" ")
    if got.shape != expected.values.shape:
        message = f"{where}: expected shape {expected.values.shape}, got {got.shape}"
        return None, Finding(Kind.WRONG_RESULT, message, output=name)
    if not got.size:
        return None, None
    stored = expected.round_to(got.dtype)
    values = stored.values
    plain = got.astype(np.float64) if values.dtype.kind == "f" else got
    allowance = stored.allowance(got.dtype, tolerance)
    compared = error_rule.compare(name, plain, values, tolerance=allowance, scale=values)
    if compared.passed:
        return compared, None
    bad = error_rule.find_wrong(plain, values, tolerance=allowance, scale=values)
    kind, message = describe_mismatch(
        compared, plain, values, bad=bad, unwritten=unwritten, inputs=inputs
    )
    return compared, Finding(kind, f"{kernel} {message}", output=name)


# One MSL kernel with what goes in and what should come out.

# Errors of the kernel, which become findings; other errors are raised.
FAULTS = (CompileError, KernelFault, TimeLimitExceeded)


@dataclass(frozen=True)
class KernelCase:
    """One MSL kernel with what goes in and what should come out."""

    build: Build
    grid: Grid
    inputs: Mapping[str, Any]
    expected: Any
    tolerance: Tolerance
    time_limit: float

    def check(self, device: _core.Device, *, checked: bool) -> Checked:
        """Run the checked build, then the kernel on a device without checked builds."""
        if not checked:
            return self._run(device)
        safe = device if device.checked_builds else _core.open("cpu")
        found = self._run(safe, checked=True)
        if safe is device:
            return found
        beyond = tuple(each.message for each in found.findings if each.kind is Kind.UNSUPPORTED)
        if found.findings and not beyond:
            return found
        return replace(self._run(device), skipped=beyond)

    def _run(self, device: _core.Device, *, checked: bool = False) -> Checked:
        build = self.build
        found = Checked(build.function or Path(build.source.filename).name, source=build.source)
        try:
            pipeline = build.pipeline(device, checked=checked)
            found = replace(found, kernel=pipeline.name)
            inputs = read_inputs(pipeline, self.inputs)
            expected = self._outputs(pipeline, inputs)
            bound = bind(device, pipeline, inputs, _memory_of(pipeline, expected), self.grid)
            device.run([bound.dispatch], time_limit=self.time_limit)
        except (*FAULTS, Unsupported) as error:
            return replace(found, findings=(make_finding(error),))
        return self._judge(found, bound, expected)

    def _judge(
        self, found: Checked, bound: BoundLaunch, expected: Mapping[str, Expected]
    ) -> Checked:
        outputs = {name: bound.memories[name].array for name in expected}
        strays = tuple(memory_findings(found.kernel, bound, expected))
        if strays:
            return replace(found, outputs=outputs, findings=strays)
        judged = [
            judge(
                f"[{found.kernel}] {name}",
                outputs[name],
                each,
                self.tolerance,
                unwritten=bound.memories[name].unwritten(),
                inputs=bound.arrays,
            )
            for name, each in expected.items()
        ]
        return found.with_judged(outputs, judged)

    def _outputs(self, pipeline: _core.Pipeline, inputs: Mapping[str, Any]) -> dict[str, Expected]:
        buffers = buffers_of(pipeline)
        writable = [name for name, each in buffers.items() if each.access != "read"]
        names = [name for name in writable if name not in inputs] or writable
        found = compute_expected(self.expected, inputs, names)
        for name in found:
            if name not in writable:
                raise DeclarationError(
                    f"[{pipeline.name}] expected: the kernel writes no {name!r}; "
                    f"{suggestion(name, writable)}"
                )
        return found


def _memory_of(
    pipeline: _core.Pipeline, expected: Mapping[str, Expected]
) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    buffers = buffers_of(pipeline)
    return {
        name: (each.values.shape, dtype_of(buffers[name]) or narrow(each.values[:0]).dtype)
        for name, each in expected.items()
    }


# Check Python code that calls `mx.fast.metal_kernel`, on the engine.


def check_python(
    kernel: Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    tolerance: Tolerance,
    *,
    checked: bool,
    time_limit: float,
) -> Checked:
    """Call a function over `mx.fast.metal_kernel` with the inputs, and judge what it returns."""
    found = Checked(getattr(kernel, "__name__", "kernel"))
    try:
        with patched_mlx(device="cpu", checked=checked, time_limit=time_limit):
            results = _several(kernel(**inputs))
    except FAULTS as error:
        return replace(found, findings=(make_finding(error),))
    names = [f"output{index}" for index in range(len(results))] if len(results) > 1 else ["output"]
    outputs = {
        name: as_numpy(each, f"[{found.kernel}] {name}")
        for name, each in zip(names, results, strict=True)
    }
    wanted = compute_expected(expected, inputs, names)
    if set(wanted) != set(names):
        raise DeclarationError(
            f"[{found.kernel}] expected: expected {', '.join(names)}, got {', '.join(wanted)}"
        )
    judged = [
        judge(
            f"[{found.kernel}] {name}",
            got,
            wanted[name],
            tolerance,
            unwritten=np.zeros(got.shape, bool),
            inputs={},
        )
        for name, got in outputs.items()
    ]
    return found.with_judged(outputs, judged)


def _several(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


# Check a kernel in a test: `check_kernel` and `assert_kernel`.


def check_kernel(
    kernel: str | Path | Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    *,
    grid: Size | None = None,
    threadgroups: Size | None = None,
    threadgroup: Size | None = None,
    function: str | None = None,
    macros: Mapping[str, object] | None = None,
    constants: Mapping[int | str, Any] | None = None,
    include_dirs: Sequence[str | Path] = (),
    threadgroup_bytes: Mapping[str, int] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    checked: bool = True,
    fast_math: bool = True,
    device: str = "auto",
    time_limit: float = 10.0,
) -> Checked:
    """Run a kernel once and return its findings; a wrong kernel does not raise.

    Parameters
    ----------
    kernel
        MSL: the path of a file, or its text. Or a function over `mx.fast.metal_kernel`: it is
        called with the inputs while such kernels run on this project's engine.
    inputs
        By the names of the kernel's arguments: arrays (of NumPy or MLX) and numbers.
    expected
        {name: array} of outputs; an array, or a tuple of them in the kernel's order; or a
        function of the inputs that it names, such as `lambda x: 2 * x`, which is called with
        float64. Their shapes are those of the outputs. What is named in `inputs`, too, is changed
        in place.
    grid, threadgroups, threadgroup
        Of MSL: threads in all, as MLX counts them, or else threadgroups; threads of a threadgroup.
    function, macros, constants, include_dirs, threadgroup_bytes, fast_math
        Of MSL: which kernel, if there are several; `-D`; function constants by name or index;
        where to look for includes; sizes of threadgroup arguments; Metal's own default of math.
    rtol, atol
        As in `numpy.testing.assert_allclose`. Without both the error rule judges: at most 4 times
        the largest error of a float32 reference, and 8 roundoffs.
    checked
        Whether to run a build that catches out-of-bounds accesses, races and reads of unwritten
        memory. It runs on the `cpu` device; with a Mac's GPU the kernel runs there as well.
    device, time_limit
        "auto", "cpu", "metal" or "cuda"; seconds for one run.

    Raise DispatchError or DeclarationError if arguments do not fit the kernel.
    """
    tolerance = Tolerance(rtol, atol)
    if callable(kernel):
        unfit = {"grid": grid, "threadgroups": threadgroups, "threadgroup": threadgroup}
        _refuse([name for name, value in unfit.items() if value is not None])
        return check_python(
            kernel, inputs, expected, tolerance, checked=checked, time_limit=time_limit
        )
    if threadgroup is None:
        raise DeclarationError("expected threadgroup=, the threads of a threadgroup; got none")
    source = read_source(kernel)
    build = Build(source, function, macros or {}, constants or {}, include_dirs, fast_math)
    launch = Grid(grid, threadgroups, threadgroup, threadgroup_bytes or {})
    case = KernelCase(build, launch, inputs, expected, tolerance, time_limit)
    return case.check(_core.open(device), checked=checked)


def assert_kernel(
    kernel: str | Path | Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    **options: Any,
) -> Checked:
    """Call `check_kernel` and raise AssertionError for its findings."""
    __tracebackhide__ = True
    found = check_kernel(kernel, inputs, expected, **options)
    if not found.passed:
        raise AssertionError(str(found))
    return found


def _refuse(names: Sequence[str]) -> None:
    if names:
        raise DeclarationError(
            f"{names[0]}: expected none with a Python function, which launches its kernels itself"
        )
