"""Checked builds of programs: no access out of bounds, and every result is written."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from test_plugin import FOLDER, outcomes

from metalbench.errors import KernelFault
from metalbench.hlo.runtime.compilation import import_program
from metalbench.hlo.runtime.executable import Executable
from metalbench.hlo.runtime.plan import build_plan

SCRIPT = "functions_checked.py"
NAMES = tuple(re.findall(r'^    "(\w+)": \(', (FOLDER / SCRIPT).read_text(), re.M))
SHORT = ("barrier_of_types", "results_of_two_shapes")
LONG = tuple(each for each in NAMES if each not in SHORT)
TEXT = """func.func @main(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = stablehlo.add %x, %x : tensor<100xf32>
  return %0 : tensor<100xf32>
}"""


def check(name, names):
    wrong = outcomes(SCRIPT, names, "cpu")[name]
    assert wrong is None, wrong


@pytest.mark.parametrize("name", SHORT)
def test_checked_builds_have_no_findings(name):
    check(name, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_checked_builds_of_many_programs_have_no_findings(name):
    check(name, LONG)


@pytest.mark.parametrize(
    ("written", "instead", "wrong"),
    [
        ("out0[i]", "out0[i + 1]", "past the end of `out0`"),
        ("in0[int(i)]", "in0[int(i) + 1]", "past the end of `in0`"),
        ("in0[int(i)]", "in0[int(i) - 1]", "`in0`"),
    ],
)
def test_checked_build_finds_an_access_beyond_a_buffer(written, instead, wrong):
    made = build_plan(import_program(TEXT), 2, device="cpu")
    (step,) = made.steps
    (kernel,) = step.kernels
    text = re.sub(r"in0\[.*\];", "in0[int(i)];", kernel.text).replace(written, instead)
    assert instead in text
    step.kernels = [replace(kernel, text=text)]
    with pytest.raises(KernelFault, match=wrong):
        Executable(made, device="cpu", checked=True)(np.ones(100, np.float32))


def test_checked_build_finds_a_read_of_unwritten_memory():
    text = TEXT.replace(
        "return %0", "%1 = stablehlo.reverse %0, dims = [0] : tensor<100xf32>\nreturn %1"
    )
    made = build_plan(import_program(text), 0, device="cpu")
    first, _ = made.steps
    first.kernels = [replace(each, threads=64) for each in first.kernels]
    with pytest.raises(KernelFault, match=r"read|writ"):
        Executable(made, device="cpu", checked=True)(np.ones(100, np.float32))
