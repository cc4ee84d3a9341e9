"""Run a kernel with each legal layout of cooperative tensors: the tool `tensor` of a check.

Metal does not define which thread has which element of a cooperative tensor. A kernel that assumes
one layout is wrong on other generations of GPUs. Its results then differ between layouts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench._core import CompileError, KernelFault, TimeLimitExceeded
from metalbench.checking.findings import CheckFinding, Frame
from metalbench.errors import KernelDied
from metalbench.kernel.header import Kernel
from metalbench.kernel.prepare import compile_kernel
from metalbench.msl.frontend.standards import TENSOR_LAYOUTS
from metalbench.task import Task
from metalbench.task.workload import workload

if TYPE_CHECKING:
    from metalbench._core import Device

# Sums have another order in another layout: a larger difference, relative to the largest element
# of the output, comes from other elements.
_TOLERANCES = {"float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}
_DECLARED = re.compile(r"\b(\w+)\s*=[^;=]*\bget_\w*cooperative_tensor\b")
# Kernels find out where an element is by these.
_ASKED = re.compile(r"\b(?:get_multidimensional_index|multidimensional_indices|map_iterator)\b")


def find_element_lines(source: str) -> list[int]:
    """Return the lines that access an element of a cooperative tensor by a number, from 1 on.

    A line is left out if it, or one of the three lines before or after it, asks for coordinates.
    """
    comments = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
    text = comments.sub(lambda each: re.sub(r"[^\n]", " ", each[0]), source)
    names = set(_DECLARED.findall(text))
    if not names:
        return []
    accesses = re.compile(rf"\b(?:{'|'.join(sorted(names))})\s*\[")
    lines = text.split("\n")
    found = [number for number, line in enumerate(lines, 1) if accesses.search(line)]
    near = 3
    return [
        number
        for number in found
        if not any(_ASKED.search(each) for each in lines[max(0, number - 1 - near) : number + near])
    ]


def check_layouts(
    kernel: Kernel,
    task: Task,
    device: Device,
    size: str,
    *,
    dtype_name: str,
    tunables: Mapping[str, int] | None,
    seed: int,
    time_limit: float,
) -> Iterator[CheckFinding]:
    """Yield a finding for each output that another layout changes, or for a layout's fault.

    Raise CompileError if the kernel compiles with no layout.
    """
    wanted: dict[str, np.ndarray[Any, Any]] = {}
    lines = find_element_lines(kernel.source)
    places = ", ".join(map(str, lines))
    hint = f"; elements are accessed by number at line {places}" if lines else ""
    frame = Frame(kernel.dispatches[0].function, str(kernel.path), lines[0] if lines else 1, 1)

    def report(message: str) -> CheckFinding:
        function = kernel.dispatches[0].function
        return CheckFinding(
            "layout-dependent", function, message + hint, 1, (frame,), size, dtype_name
        )

    for layout in range(TENSOR_LAYOUTS):
        try:
            built = compile_kernel(
                device,
                replace(kernel, tensor_layout=layout),
                task,
                dtype_name=dtype_name,
                tunables=tunables,
            )
        except CompileError as error:
            if layout == 0:
                raise
            said = str(error).splitlines()[0]
            yield report(f"the kernel does not compile with layout {layout}: {said}")
            return
        bound = built.bind(workload(task, size, dtype_name=dtype_name, seed=seed))
        bound.poison()
        try:
            built.device.run(bound.dispatches, time_limit=time_limit)
        except (KernelDied, KernelFault, TimeLimitExceeded) as error:
            yield report(f"the kernel fails with layout {layout}: {error}")
            return
        for name, each in bound.own_outputs.items():
            found = np.array(each.array, copy=True)
            if layout == 0:
                wanted[name] = found
                continue
            share = _compare(found, wanted[name], each.dtype.name)
            if share > 0:
                yield report(
                    f"{share:.0%} of the elements of `{name}` differ between two legal layouts of "
                    "cooperative tensors"
                )
                return


def _compare(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], name: str) -> float:
    """Return the share of elements that differ by more than rounding."""
    if name not in _TOLERANCES:
        return float(np.mean(found != wanted)) if found.size else 0.0
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    largest = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    near = np.isclose(a, b, rtol=0, atol=_TOLERANCES[name] * largest, equal_nan=True)
    return float(np.mean(~near)) if a.size else 0.0
