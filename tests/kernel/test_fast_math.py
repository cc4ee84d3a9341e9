"""Warnings about kernels under `// math: fast` that test for NaN or infinity."""

from __future__ import annotations

import re

import pytest

from metalbench import _core
from metalbench.kernel import header
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel, find_folded_tests
from metalbench.task import normal, output, task

SOURCE = """// dispatch: copy  threads_in_grid=(n)  threads=(64)
// math: fast
#include <metal_stdlib>
using namespace metal;
struct Pair { float a, b; float most() const { return max(a, b); } };
static bool odd(float v) { return HELPER; }
static bool unused(float v) { return isnan(v); }
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  Pair p = {v, v};
  y[i] = (TEST) ? 0 : v + p.most();
}
"""


@task(
    sizes=dict(seed=dict(n=64)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x,
    flops="n",
)
def copied(x):
    return x


def warnings(test="v > 0", helper="v > 0", edit=lambda source: source):
    text = edit(SOURCE.replace("TEST", test).replace("HELPER", helper))
    kernel = header.parse(text, name="copied")
    return find_folded_tests(compile_kernel(_core.open("cpu"), kernel, copied))


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("isnan(v)", "isnan"),
        ("metal::isinf(v)", "isinf"),
        ("!isfinite(v) || v > 3", "isfinite"),
        ("any(isnan(float2(v)))", "isnan"),
        ("v != v", "v != v"),
        ("v > 0 && v == v", "v == v"),
        ("(x[i]) != (x[i])", "(x[i]) != (x[i])"),
        ("p.a != p.a", "p.a != p.a"),
        ("x[i + 1] != x[i + 1]", "x[i+1] != x[i+1]"),
    ],
)
def test_a_test_is_named_with_file_and_line(test, shown):
    (warning,) = warnings(test)
    assert "under `// math: fast`: " in warning
    assert re.search(rf": copied.metal:11:\d+: `{re.escape(shown)}`; ", warning)
    assert "test the bits" in warning


@pytest.mark.parametrize(
    "test", ["v != x[0]", "p.a != p.b", "i + v != v", "v != v + 1", "2 * v == v", "3 == 3"]
)
def test_comparisons_of_two_values_have_no_warning(test):
    assert warnings(test) == ()


def test_warnings_ignore_code_that_the_kernel_does_not_reach():
    assert warnings("odd(v)") == ()
    (warning,) = warnings("odd(v)", helper="isnan(v)")
    assert ": copied.metal:6:" in warning
    assert warnings("v > 1", helper="isnan(v)") == ()


def test_a_user_function_of_the_same_name_is_not_folded():
    own = "static bool isnan(float v) { return (as_type<uint>(v) & 0x7fffffff) > 0x7f800000; }\n"
    assert warnings("isnan(v)", edit=lambda source: source.replace("struct", own + "struct")) == ()


def test_safe_math_keeps_them():
    assert warnings("isnan(v)", edit=lambda source: source.replace("// math: fast\n", "")) == ()


@pytest.mark.slow
def test_the_librarys_kernels_do_without():
    device = _core.open("cpu")
    fast = [entry for entry in Library() if entry.kernel().math == "fast"]
    assert fast
    for entry in fast:
        for dtype in entry.kernel().dtypes:
            compiled = compile_kernel(device, entry.kernel(), entry.task, dtype_name=dtype)
            assert find_folded_tests(compiled) == ()
