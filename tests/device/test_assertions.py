"""assert() of <metal_assert>: a finding in checked builds, nothing in plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core

SOURCE = """
#include <metal_assert>
template <typename T> constexpr T half_of(T x) { assert(x > T(0)); return x / T(2); }
kernel void f(device float* x, uint i [[thread_position_in_grid]]) {
  assert(i < 64);
  assert((is_same<float, float>::value));
  assert(metal::max<float, float>(x[i], 0.5) >= 0.5);
  x[i] = half_of(x[i]);
  assert(x[i] <   LIMIT && "too large");
}
"""


def run(compile_kernel, x, text=SOURCE, **options):
    pipeline = compile_kernel(text, macros={"LIMIT": "4"}, **options)
    _core.Device.run(
        _core.open("cpu"), [_core.Dispatch(pipeline, {"x": x}, threads_in_grid=len(x), threads=8)]
    )


@pytest.fixture
def cpu_kernel(compile_kernel, device):
    if device.kind != "cpu":
        pytest.skip("what assert does there is that device's own")
    return compile_kernel


@pytest.mark.parametrize("checked", [False, True])
def test_an_assertion_that_holds_has_no_effect(cpu_kernel, checked):
    x = np.full(8, 6, np.float32)
    run(cpu_kernel, x, checked=checked)
    assert x.tolist() == [3] * 8


def test_a_failed_assertion_has_no_effect_in_a_plain_build(cpu_kernel):
    x = np.full(8, -20, np.float32)
    run(cpu_kernel, x)
    assert x.tolist() == [-10] * 8


@pytest.mark.parametrize(
    ("value", "line", "text"),
    [
        (10, 11, 'assert(x[i] < LIMIT && "too large") failed'),
        (-1, 5, "assert(x > T(0)) failed"),
    ],
)
def test_a_failed_assertion_is_a_finding_in_a_checked_build(cpu_kernel, value, line, text):
    x = np.ones(8, np.float32)
    x[5] = value
    with pytest.raises(_core.KernelFault) as caught:
        run(cpu_kernel, x, checked=True)
    message = str(caught.value)
    assert text in message
    assert f"test.metal:{line}" in message
    assert "thread (5, 0, 0)" in message


def test_ndebug_turns_them_off(cpu_kernel):
    x = np.full(8, -20, np.float32)
    run(cpu_kernel, x, "#define NDEBUG\n" + SOURCE, checked=True)
    assert x.tolist() == [-10] * 8


@pytest.mark.parametrize("checked", [False, True])
def test_the_source_may_have_its_own(cpu_kernel, checked):
    x = np.zeros(8, np.float32)
    text = """
    #undef assert
    #define assert(condition, value) if (!(condition)) x[i] = value;
    kernel void f(device float* x, uint i [[thread_position_in_grid]]) { assert(i != 3, 7) }
    """
    run(cpu_kernel, x, text, checked=checked)
    assert x.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]


def test_an_invalid_assertion_is_a_compile_error(cpu_kernel):
    text = "kernel void f(device float* x) { assert(missing); }"
    with pytest.raises(_core.CompileError, match="undeclared identifier 'missing'"):
        cpu_kernel(text)
