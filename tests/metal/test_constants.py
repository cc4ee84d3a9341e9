"""Function constants on the Metal device: by name, by index, of every type."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

pytestmark = pytest.mark.metal

SOURCE = """
#include <metal_stdlib>
using namespace metal;
constant bool flag [[function_constant(0)]];
constant char narrow [[function_constant(1)]];
constant ushort wide [[function_constant(2)]];
constant float ratio [[function_constant(3)]];
constant half small [[function_constant(4)]];
constant uint3 triple [[function_constant(5)]];
constant int absent [[function_constant(6)]];
constant long big [[function_constant(7)]];
constant int other [[function_constant(8)]];
kernel void all(device float* y) {
  y[0] = flag; y[1] = narrow; y[2] = wide; y[3] = ratio; y[4] = small;
  y[5] = triple.x; y[6] = triple.y; y[7] = triple.z;
  y[8] = is_function_constant_defined(absent) ? absent : -1;
  y[9] = big;
}
kernel void second(device float* y) { y[0] = other; }
"""
VALUES = {
    "flag": True, 1: -5, "wide": 65535, 3: 0.1, "small": 0.1, "triple": (1, 2, 3), "big": 2**40
}  # fmt: skip


def run(device: _core.Device, constants: dict, name: str = "all") -> np.ndarray:
    out = np.zeros(10, np.float32)
    pipeline = device.compile(SOURCE, filename="c.metal").pipeline(name, constants)
    device.run([_core.Dispatch(pipeline, {"y": out}, threads_in_grid=1, threads=1)])
    return out


def test_values_have_the_declared_types(metal: _core.Device) -> None:
    expected = [1, -5, 65535, np.float32(0.1), np.float16(0.1), 1, 2, 3, -1, 2**40]
    assert run(metal, VALUES).tolist() == np.array(expected, np.float32).tolist()
    assert run(metal, {**VALUES, "absent": 4})[8] == 4


OTHERS = {
    "uchar": 255, "short": -(2**15), "uint": 2**32 - 1, "ulong": 2**40, "int": 2.0, "bfloat": 1.5
}  # fmt: skip


@pytest.mark.parametrize("declared", OTHERS)
def test_a_constant_of_each_type(metal: _core.Device, declared: str) -> None:
    source = (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        f"constant {declared} given [[function_constant(0)]];\n"
        "kernel void k(device float* y) { y[0] = float(given); }\n"
    )
    y = np.zeros(1, np.float32)
    pipeline = metal.compile(source).pipeline("k", {"given": OTHERS[declared]})
    metal.run([_core.Dispatch(pipeline, {"y": y}, threads_in_grid=1, threads=1)])
    assert y[0] == np.float32(OTHERS[declared])


def test_constants_of_other_functions_may_be_given(metal: _core.Device) -> None:
    assert run(metal, {**VALUES, "other": 6}, "second")[0] == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nonsense": 1}, "no function constant is called 'nonsense'; expected .*flag"),
        ({99: 1}, "no function constant is called 99; expected .*flag"),
        ({"narrow": 128}, "narrow: expected char, got 128; give an integer from -128 to 127"),
        ({"narrow": 0.5}, "narrow: expected char, got 0.5; give an integer from -128 to 127"),
        ({"flag": 2}, "flag: expected bool, got 2; give True or False"),
        ({"triple": 1}, "triple: expected uint3, got 1; give a sequence of 3 numbers"),
        ({"triple": (1, 2)}, r"triple: expected uint3, got \(1, 2\); give a sequence of 3"),
        ({"ratio": (1, 2)}, r"ratio: expected float, got \(1, 2\); give"),
    ],
)
def test_constants_of_wrong_values_are_refused(
    metal: _core.Device, given: dict, message: str
) -> None:
    with pytest.raises(_core.CompileError, match=rf"\[all\] .*{message}"):
        run(metal, {**VALUES, **given})
