"""Integer division where Metal leaves it undefined."""

from __future__ import annotations

from platform import machine

import numpy as np
import pytest

from metalbench import _core

SIGNED = {"char": np.int8, "short": np.int16, "int": np.int32, "long": np.int64}


def divide(elementwise, kind, op, checked=False, divisor=-1, vector=""):
    least = np.iinfo(SIGNED[kind]).min
    a = np.array([least, least, -7, 6], SIGNED[kind])
    b = np.array([divisor, 1, 2, divisor], SIGNED[kind])
    value = f"({kind}{vector}(a) {op} {kind}{vector}(b)){'.x' if vector else ''}"
    return elementwise(value, a, b, result=kind, checked=checked)


@pytest.mark.parametrize("vector", ["", "2", "4"])
@pytest.mark.parametrize("kind", SIGNED)
def test_the_minimum_divided_by_minus_one_wraps(elementwise, kind, vector):
    """Division wraps, as on GPUs."""
    least = np.iinfo(SIGNED[kind]).min
    assert divide(elementwise, kind, "/", vector=vector).tolist() == [least, least, -3, -6]
    assert divide(elementwise, kind, "%", vector=vector).tolist() == [0, 0, -1, 0]


@pytest.mark.parametrize("op", "/%")
@pytest.mark.parametrize("kind", ["int", "long"])
def test_a_checked_build_names_the_overflow(elementwise, kind, op):
    with pytest.raises(_core.KernelFault, match=r"integer overflow: .* by -1 .* by thread \(0, "):
        divide(elementwise, kind, op, checked=True)


@pytest.mark.parametrize("kind", ["char", "short"])
def test_division_after_promotion_does_not_overflow(elementwise, kind):
    least = np.iinfo(SIGNED[kind]).min
    assert divide(elementwise, kind, "/", checked=True)[0] == least


@pytest.mark.skipif(machine() != "x86_64", reason="other processors give 0")
@pytest.mark.parametrize("op", "/%")
def test_a_division_by_zero_is_called_by_its_name(elementwise, op):
    with pytest.raises(_core.KernelFault, match="integer division by zero"):
        divide(elementwise, "int", op, divisor=0)


def test_compound_assignment_and_constants(elementwise):
    least = np.array([np.iinfo(np.int32).min], np.int32)
    minus = np.array([-1], np.int32)
    before = "int c = a; c /= b; int d = a; d %= b; int e = a / as_type<int>(0xffffffffu);"
    assert elementwise("c + d - e", least, minus, result="int", before=before)[0] == 0
