"""The fixtures in a project of someone else's."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import pytest

from metalbench.testing import pytest_plugin

pytest_plugins = ["pytester"]

SOURCE = '''
import numpy as np

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i OFFSET];
}
"""
X = np.ones(64)
'''
TESTS = (
    SOURCE
    + """
def test_right(assert_kernel):
    assert_kernel(SOURCE.replace("OFFSET", ""), {"x": X}, lambda x: 2 * x, grid=64, threadgroup=32)

def test_wrong(assert_kernel):
    assert_kernel(SOURCE.replace("OFFSET", "+ 1"), {"x": X}, np.sin, grid=64, threadgroup=32)

def test_looked_at(check_kernel):
    found = check_kernel(SOURCE.replace("OFFSET", "+ 1"), {"x": X}, np.sin, grid=64, threadgroup=32)
    assert found.findings[0].place.buffer == "x"

def test_timed(time_kernel):
    text = SOURCE.replace("OFFSET", "")
    timed = time_kernel(text, {"x": X}, {"y": 64}, grid=64, threadgroup=32, seconds=0.01)
    assert timed.ns.value > 0
"""
)
MLX_CODE = """
import mlx.core as mx

twice = mx.fast.metal_kernel(name="twice", input_names=["x"], output_names=["y"],
                             source="uint i = thread_position_in_grid.x; y[i] = 2 * x[i OFFSET];")

def run(x):
    return twice(inputs=[x], grid=(x.size, 1, 1), threadgroup=(32, 1, 1),
                 output_shapes=[x.shape], output_dtypes=[x.dtype])[0]

def test_twice():
    assert run(mx.ones(64)).tolist() == [2.0] * 64
"""
STRICT = "[pytest]\nfilterwarnings = error\n"


def test_pytest_finds_the_plugin_by_itself():
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "metalbench"]
    assert found.value == pytest_plugin.__name__


def test_fixtures_pass_fail_and_say_where(pytester):
    pytester.makeini(STRICT)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *AssertionError: twice: not correct",
            "E *OUT_OF_BOUNDS: *<source>:4: read of 4 bytes past the end of `x`*thread (31, 0, 0)*",
            "E *4 | y[[]i] = 2 * x[[]i + 1];",
        ]
    )
    # The line that is shown is the test's own.
    assert "assertion.py" not in result.stdout.str()


@pytest.mark.parametrize(("offset", "outcome"), [("", "passed"), ("+ 1", "failed")])
def test_kernels_created_at_import_use_the_engine(pytester, offset, outcome):
    pytester.makeini(STRICT + "metal_kernel = checked\n")
    pytester.makepyfile(MLX_CODE.replace("OFFSET", offset))
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(**{outcome: 1})


def test_the_fixture_patches_mlx_for_one_test(pytester):
    code = MLX_CODE.replace("OFFSET", "").replace("\n", "\n    ")
    code = "def test_inside(patched_mlx):" + code + "\n    test_twice()\n"
    pytester.makeini(STRICT)
    pytester.makepyfile(code)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_wrong_option_is_wrong_usage(pytester):
    pytester.makeini("[pytest]\nmetal_kernel = fast\n")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: metal_kernel: expected checked or plain, got 'fast'"])


def test_the_plugin_imports_no_module_without_a_use(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            assert "metalbench.testing.pytest_plugin" in sys.modules
            heavy = {"numpy", "mlx.core", "metalbench._core", "metalbench.testing.assertion"}
            assert not heavy & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    assert "numpy" in sys.modules  # and not because there is none
