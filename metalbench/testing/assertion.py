"""Check a kernel in a test: `check` and `assert_kernel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from metalbench import _core, checking
from metalbench.checking import Findings
from metalbench.errors import DeclarationError
from metalbench.testing.case import Case
from metalbench.testing.checked import Checked
from metalbench.testing.expected import Tolerance
from metalbench.testing.launch import Build, Grid, Size
from metalbench.testing.mlx_kernels import check_python
from metalbench.testing.source import read_source


@overload
def check(kernel: str | Path, **options: Any) -> Findings: ...


@overload
def check(
    kernel: str | Path | Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    **options: Any,
) -> Checked: ...


def check(
    kernel: str | Path | Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    expected: Any = None,
    **options: Any,
) -> Checked | Findings:
    """Return the findings about a kernel; a wrong kernel does not raise.

    With `inputs` and `expected` it is run once, and its outputs are compared: `check_outputs` has
    the options. Without both, `kernel` is the NAME of a task or a standalone FILE.metal, and the
    result has all findings of a checked build: `metalbench.checking.check` has the options.
    """
    if inputs is None and expected is None and not callable(kernel):
        return checking.check(kernel, **options)
    if inputs is None:
        raise DeclarationError("inputs: expected {name: array}, got none")
    return check_outputs(kernel, inputs, expected, **options)


def check_outputs(
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
    case = Case(build, launch, inputs, expected, tolerance, time_limit)
    return case.check(_core.open(device), checked=checked)


def assert_kernel(
    kernel: str | Path | Callable[..., Any],
    inputs: Mapping[str, Any],
    expected: Any,
    **options: Any,
) -> Checked:
    """Call `check_outputs` and raise AssertionError for its findings."""
    __tracebackhide__ = True
    found = check_outputs(kernel, inputs, expected, **options)
    if not found.passed:
        raise AssertionError(str(found))
    return found


def _refuse(names: Sequence[str]) -> None:
    if names:
        raise DeclarationError(
            f"{names[0]}: expected none with a Python function, which launches its kernels itself"
        )
