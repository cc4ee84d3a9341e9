"""MSL's standard library, tested through kernels of one expression or a few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from engine_ways import WAYS, on
from msl.conformance import TYPES

from metalbench import _core

_NAMES = {np.dtype(dtype): name for name, dtype in TYPES.items()}

Run = Callable[..., np.ndarray]


@pytest.fixture(scope="session")
def cpu() -> _core.Device:
    return _core.open("cpu")


@pytest.fixture(scope="session")
def elementwise(cpu: _core.Device) -> Run:
    """Evaluate an MSL expression of a, b, c, d for every element of as many arrays.

    `result` is the MSL type of what comes back; `before` are lines ahead of the expression.
    """

    def evaluate(
        expression: str,
        *inputs: np.ndarray,
        result: str = "float",
        before: str = "",
        **options: Any,
    ) -> np.ndarray:
        parameters = [
            f"device const {_NAMES[array.dtype]}* in_{name}"
            for name, array in zip("abcd", inputs, strict=False)
        ]
        values = [
            f"const {_NAMES[array.dtype]} {name} = in_{name}[i];"
            for name, array in zip("abcd", inputs, strict=False)
        ]
        source = f"""
            #include <metal_stdlib>
            using namespace metal;
            kernel void evaluate({", ".join(parameters)}, device {result}* out,
                                 uint i [[thread_position_in_grid]]) {{
              {" ".join(values)}
              {before}
              out[i] = {expression};
            }}"""
        pipeline = cpu.compile(textwrap.dedent(source), **options).pipeline()
        out = np.zeros(inputs[0].shape, TYPES[result])
        arguments = {f"in_{name}": array for name, array in zip("abcd", inputs, strict=False)}
        grid = (len(inputs[0]), 1, 1)
        dispatch = _core.Dispatch(
            pipeline, arguments | {"out": out}, threads_in_grid=grid, threads=(64, 1, 1)
        )
        cpu.run([dispatch])
        return out

    return evaluate


@pytest.fixture(params=[*WAYS, "checked"])
def threadgroup(request: pytest.FixtureRequest, cpu: _core.Device) -> Iterator[Run]:
    """Run the body of a kernel for one threadgroup; `x` is its input, `y` its output.

    The body sees `lane` (in the simdgroup), `group` (the simdgroup) and `tid` (in the threadgroup).
    On every way that it may be run: as vectors, as fibers, and in a checked build.
    """

    def run(
        body: str, x: np.ndarray, *, result: str = "float", threads: int = 32, **options: Any
    ) -> np.ndarray:
        source = f"""
            #include <metal_stdlib>
            using namespace metal;
            kernel void run(device const {_NAMES[x.dtype]}* x, device {result}* y,
                            uint tid [[thread_position_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint group [[simdgroup_index_in_threadgroup]]) {{
              {body}
            }}"""
        count = options.pop("count", threads)
        options.setdefault("checked", request.param == "checked")
        pipeline = cpu.compile(textwrap.dedent(source), **options).pipeline()
        y = np.zeros(count, TYPES[result])
        dispatch = _core.Dispatch(
            pipeline, {"x": x, "y": y}, threadgroups=(1, 1, 1), threads=(threads, 1, 1)
        )
        cpu.run([dispatch])
        return y

    if request.param == "checked":
        yield run
        return
    with on(request.param, request.node):
        yield run


@pytest.fixture(scope="session")
def compiles(cpu: _core.Device) -> Callable[[str], None]:
    """Compile declarations, static_asserts among them, ahead of an empty kernel."""

    def check(declarations: str, **options: Any) -> None:
        source = (
            "#include <metal_stdlib>\nusing namespace metal;\n"
            + textwrap.dedent(declarations)
            + "\nkernel void nothing(device int* out) { out[0] = 1; }\n"
        )
        cpu.compile(source, **options).pipeline("nothing")

    return check
