"""The names of Metal's compiler and library that MLX's headers touch, without those headers."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core


def value(device: _core.Device, expression: str, before: str = "", kind: str = "float") -> float:
    """Return the value of the expression in the first lane; `x` is 1.7 there."""
    source = f"""
#include <metal_stdlib>
using namespace metal;
{before}
kernel void f(device const float* in, device {kind}* out, uint i [[thread_position_in_grid]]) {{
  float x = in[i];
  out[i] = {expression};
}}"""
    x = np.array([1.7, 8], np.float32)
    out = np.zeros(2, {"float": np.float32, "int": np.int32}[kind])
    pipeline = device.compile(source, filename="names.metal").pipeline()
    device.run([_core.Dispatch(pipeline, {"in": x, "out": out}, threads_in_grid=2, threads=2)])
    return out[0].item()


@pytest.mark.parametrize("space", ["precise", "fast"])
def test_overloads_that_a_library_adds_leave_the_others_alone(device: _core.Device, space: str):
    added = f"namespace metal {{ namespace {space} {{\nbfloat exp(bfloat x) {{ return x; }}\n}} }}"
    assert value(device, f"{space}::exp(x)", added) == pytest.approx(np.exp(1.7), rel=1e-6)
    assert value(device, f"{space}::exp(bfloat(x))", added) == 1.703125


def test_functions_of_the_compiler(device: _core.Device):
    frexp = "float fraction(float x) { int e; return __metal_frexp(x, &e) + e; }"
    assert value(device, "fraction(x)", frexp) == pytest.approx(1.85)
    assert value(device, "__metal_get_simdgroup_size(ushort())") == 32
    assert value(device, "__metal_get_thread_index_in_simdgroup(ushort())") == 0
    assert value(device, "__metal_simd_xor(x)", kind="int") == 1 ^ 8


def test_uniform_values_count_as_their_type(device: _core.Device):
    text = (
        "int blocks(int n) { const uniform<int> step = make_uniform(3); return n / step * step; }"
    )
    assert value(device, "blocks(17)", text, "int") == 15


def test_types_without_their_address_space(device: _core.Device):
    text = "template <class T> struct a { static constexpr constant int of = 0; };\n"
    text += "template <> struct a<int> { static constexpr constant int of = 4; };\n"
    text += "constant int n = 7;\n"
    assert value(device, "a<metal::remove_addrspace_t<decltype(n)>>::of", text, "int") == 4


def test_messages_to_the_log_are_taken(device: _core.Device):
    text = 'constant metal::os_log logger("here", "there");\n'
    text += 'int logged(int n) { logger.log_debug("n=%d", n); os_log_default.log("n"); return n; }'
    assert value(device, "logged(3)", text, "int") == 3
