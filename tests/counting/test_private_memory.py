"""Which pointers are known to point to a thread's own stack."""

from __future__ import annotations

from metalbench.msl.building.private_memory import Bases

BODY = """define void @f(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca [4 x float], align 16
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  store ptr %3, ptr %4, align 8
  store ptr %3, ptr %5, align 8
  store ptr %0, ptr %5, align 8
  %6 = load ptr, ptr %2, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds float, ptr %7, i64 2
  %9 = load ptr, ptr %5, align 8""".splitlines()


def test_members_and_variables_that_are_set_once_are_followed():
    bases = Bases(BODY)
    assert [bases.is_private(name) for name in ("%3", "%7", "%8")] == [True] * 3


def test_arguments_and_variables_that_change_are_not():
    bases = Bases(BODY)
    assert [bases.is_private(name) for name in ("%0", "%6", "%9")] == [False] * 3


def test_a_variable_whose_address_is_known_elsewhere_may_change():
    bases = Bases([*BODY, "  call void @g(ptr %4)"])
    assert not bases.is_private("%8")
