"""Test function constants of every type, and several in one declaration."""

import numpy as np
import pytest

from metalbench import _core
from metalbench._core import CompileError
from metalbench.msl.frontend.constants import format_literal
from metalbench.msl.frontend.lower import lower

TEXT = """
constant float4 scale [[function_constant(0)]];
constant bool a [[function_constant(1)]], b [[function_constant(2)]];
constant bool both = a && b;
constant int count [[function_constant(3)]];
kernel void f(device float* out) {
  out[0] = both ? scale.z + count : 0;
}
"""


def test_several_in_one_declaration_have_their_own_indices(source):
    found = [(constant.name, constant.index, constant.type) for constant in source(TEXT).constants]
    assert found == [
        ("scale", 0, "float4"),
        ("a", 1, "bool"),
        ("b", 2, "bool"),
        ("count", 3, "int"),
    ]


def test_a_vector_is_given_by_its_components(source):
    constants = {"scale": (1, 2, 3.5, 4), "a": True, 2: True, "count": 4}
    code = lower(source(TEXT), "f", constants).code.text
    assert "scale = metal::float4(static_cast<float>(1.0)" in code
    assert "bool a = true; static constexpr bool b = true;" in code


@pytest.mark.parametrize("value", [1.0, (1, 2), [1, 2, 3, 4, 5]])
def test_a_vector_needs_as_many_numbers(source, value):
    constant = source(TEXT).constants[0]
    with pytest.raises(CompileError, match="expected float4, got"):
        format_literal(constant, value, "f")


def test_a_scalar_takes_no_sequence(source):
    with pytest.raises(CompileError, match="expected int, got"):
        format_literal(source(TEXT).constants[3], [1, 2], "f")


def test_vectors_reach_the_kernel():
    device = _core.open("cpu")
    library = device.compile("#include <metal_stdlib>\nusing namespace metal;\n" + TEXT)
    constants = {0: (1, 2, 3.5, 4), "a": True, "b": True, "count": 4}
    out = np.zeros(1, np.float32)
    dispatch = _core.Dispatch(
        library.pipeline(constants=constants), {"out": out}, threads_in_grid=1, threads=1
    )
    device.run([dispatch])
    assert out[0] == 7.5
