"""Wrong kernels and what explains their results; what the oracle does not confirm is not said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.prepare import compile_kernel
from metalbench.task import normal, output, task
from metalbench.task.workload import workload
from metalbench.verify import VerifyPlan, verify_compiled
from metalbench.verify.explanation import find_explanation

SIZES = dict(seed=dict(rows=24, n=264))
BIAS = """
// dispatch: k threads_in_grid=(n, rows) threads=(32)
#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x, device const float* w, device const float* b, device float* y,
              constant uint& n, constant uint& rows, uint2 at [[thread_position_in_grid]]) {
  const uint i = at.x, row = at.y, o = row * n + i;
  BODY
}
"""
SUM = """
// dispatch: k threadgroups=(rows) threads=(128)
#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* x, device float* y, constant uint& n,
              uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]],
              uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup float parts[4];
  float s = 0;
  BODY
}
"""
COMBINED = """
  s = simd_sum(s);
  if (lane == 0) parts[group] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) y[row] = parts[0] + parts[1] + parts[2] + parts[3];
"""


def affine():
    @task(
        sizes=SIZES,
        inputs=dict(x=normal("rows", "n"), w=normal("n", mean=3.0), b=normal("n")),
        outputs=dict(y=output("rows", "n")),
        oracle=lambda x, w, b: x * w + b,
        flops="rows * n",
    )
    def affine(x, w, b):
        return x * w + b

    return affine


def row_sum():
    @task(
        sizes=SIZES,
        inputs=dict(x=normal("rows", "n")),
        outputs=dict(y=output("rows")),
        oracle=lambda x: np.square(x).sum(-1),
        flops="rows * n",
    )
    def row_sum(x):
        return (x * x).sum(-1)

    return row_sum


def message_of(declared, source, body):
    device = _core.open("cpu")
    text = source.replace("BODY", body.replace("SQUARE", "x[row * n + i] * x[row * n + i]"))
    kernel = parse(text, name=declared.name)
    report = verify_compiled(
        compile_kernel(device, kernel, declared), VerifyPlan(sizes=["seed"], repeat=False)
    )
    assert not report.passed
    return report.findings[0].message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y[o] = x[o] * w[i];", "as if b were 0: is it added?"),
        ("y[o] = x[o] + b[i];", "as if w were 1: is it multiplied by?"),
        ("y[o] = x[o] * w[i] - b[i];", "as if b had the other sign"),
        ("y[o] = x[o] * w[i] + b[0];", "as if b were b[0] everywhere"),
        (
            "y[o] = x[o] * w[i] + b[i + 1 < n ? i + 1 : 0];",
            "as if b were read one place away (at index + 1)",
        ),
        (
            "y[o] = x[o] * w[i] + b[i > 0 ? i - 1 : 0];",
            "as if b were read one place away (at index - 1)",
        ),
        (
            "y[o] = x[o] * w[i] + b[uchar(i)];",
            "the index of b were taken modulo 256: is it kept in 8 bits (uchar)?",
        ),
        ("y[o] = x[o] * w[uchar(i)] + b[i];", "the index of w were taken modulo 256"),
        ("y[o] = x[o] * w[i] + b[i] + 0 * log(x[o]);", "exactly where x is negative"),
        (
            "y[o] = x[i * rows + row] * w[i] + b[i];",
            "is the row's length taken for the number of rows?",
        ),
    ],
)
def test_explanation_names_the_wrongly_used_input(body, words):
    assert words in message_of(affine(), BIAS, body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "for (uint i = t; i < n; i += 128) s += SQUARE;\n"
            "s = simd_sum(s); if (t == 0) y[row] = s;",
            "index % 128 < 32 counted: are the results of the other SIMD-groups combined?",
        ),
        (
            "for (uint i = t; i < n; i += 128) s += SQUARE;\nif (t == 0) y[row] = s;",
            "index % 128 == 0 counted: are the results of the other threads combined?",
        ),
        (
            f"s = x[row * n + t] * x[row * n + t];\n{COMBINED}",
            "before 128 counted: is there a loop over the others?",
        ),
        (
            f"for (uint i = t; i < n / 16 * 16; i += 128) s += SQUARE;\n{COMBINED}",
            "before 256 counted: the last 8 are left out, which are less than 16",
        ),
        (
            f"for (uint i = t; i < n - 1; i += 128) s += SQUARE;\n{COMBINED}",
            "before 263 counted: the last one is left out",
        ),
        (
            f"for (uint i = t + 1; i < n; i += 128) s += SQUARE;\n{COMBINED}",
            "after the first counted: the first one is left out",
        ),
    ],
)
def test_explanation_names_the_summed_part(body, words):
    assert words in message_of(row_sum(), SUM, body)


@pytest.mark.parametrize(
    "body",
    [
        "y[o] = x[o] * w[i] + b[i] + (o % 7 == 3 ? 1.0f : 0.0f);",
        "y[o] = x[o] * w[i] + b[i] * b[i];",
        "y[o] = tanh(x[o]) * w[i] + b[i];",
    ],
)
def test_explanation_has_only_causes_that_the_oracle_confirms(body):
    assert "as if" not in message_of(affine(), BIAS, body)


def test_explanation_of_a_right_result_is_empty():
    work = workload(row_sum(), "seed")
    expected = work.expected["y"]
    assert find_explanation(work, "y", expected, np.zeros(expected.shape, bool)) == ""


def test_explanation_names_rows_that_are_nan():
    work = workload(row_sum(), "seed")
    x = work.inputs["x"].copy()
    x[[3, 9]] = 0
    work = replace(work, inputs={"x": x})
    got = work.expected["y"].copy()
    got[[3, 9]] = np.nan
    assert "exactly where all of a row of x is 0, such as row 3" in find_explanation(
        work, "y", got, np.isnan(got)
    )
    got[5] = np.nan
    assert find_explanation(work, "y", got, np.isnan(got)) == ""
