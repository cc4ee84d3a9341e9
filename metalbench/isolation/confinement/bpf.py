"""Programs of classic BPF as seccomp(2) runs them: rules on the number and arguments of a call.

A rule is tried in the order in which it was given, and the first that applies decides.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.isolation.confinement.system_calls import SystemCallTable

LOAD, JUMP_EQUAL, JUMP_NOT_BELOW, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Where `struct seccomp_data` has what is asked about; arguments are of 64 bits each.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW = 0x7FFF0000
# The caller gets SIGSYS, of which a handler can tell, and which nothing survives that has none.
TRAP = 0x00030000
# Calls of x32 have this bit, and would go past a filter that knows the plain numbers only.
X32 = 0x40000000


def make_refusal(number: int = errno.EPERM) -> int:
    """The action that makes a call fail with an error's number."""
    return 0x00050000 | number


class Condition(NamedTuple):
    """Of one half of an argument, the lower unless told: what its bits, or itself, must be.

    Most arguments are `int`, or flags of which no upper one is defined; pointers have two halves.
    """

    argument: int
    equal: int | None = None
    any_bit: int = 0
    half: int = 0


class Rule(NamedTuple):
    """What happens to a call that meets all conditions."""

    action: int
    conditions: tuple[Condition, ...] = ()


Instruction = tuple[int, int, int, int]
Policy = Mapping[str, Sequence[Rule]]


def assemble(machine: SystemCallTable, policy: Policy, otherwise: int) -> list[Instruction]:
    """Write a policy, rules by the name of a call, as instructions: code, if true, if false, value.

    Calls that this processor has not are left out. What calls of other names, or rules without one
    that applies, come to is `otherwise`; those of another processor's table are trapped.
    """
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, machine.audit),
        (RETURN, 0, 0, TRAP),
        (LOAD, 0, 0, NUMBER),
        (JUMP_NOT_BELOW, 0, 1, X32),
        (RETURN, 0, 0, TRAP),
    ]
    known = {
        machine.numbers[name]: rules for name, rules in policy.items() if name in machine.numbers
    }
    plain = {number: rules[0].action for number, rules in known.items() if not rules[0].conditions}
    for number, action in plain.items():
        program += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, action)]
    for number, rules in known.items():
        if number not in plain:
            program += _call(number, rules, otherwise)
    return [*program, (RETURN, 0, 0, otherwise)]


def _call(number: int, rules: Sequence[Rule], otherwise: int) -> list[Instruction]:
    body = [step for rule in rules for step in _rule(rule)]
    body.append((RETURN, 0, 0, otherwise))
    return [(JUMP_EQUAL, 0, len(body), number), *body]


def _rule(rule: Rule) -> list[Instruction]:
    """The conditions, each of which jumps behind the return if it fails."""
    steps: list[Instruction] = [(RETURN, 0, 0, rule.action)]
    for condition in reversed(rule.conditions):
        code = JUMP_ANY_BIT if condition.equal is None else JUMP_EQUAL
        value = condition.any_bit if condition.equal is None else condition.equal
        load = (LOAD, 0, 0, FIRST_ARGUMENT + 8 * condition.argument + 4 * condition.half)
        steps = [load, (code, 0, len(steps), value & 0xFFFFFFFF), *steps]
    return steps


class _Instruction(ctypes.Structure):
    """`struct sock_filter`."""

    _fields_ = [
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class Program(ctypes.Structure):
    """`struct sock_fprog`, which keeps its instructions alive."""

    _fields_ = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]

    def __init__(self, steps: Iterable[Instruction]) -> None:
        listed = list(steps)
        self._instructions = (_Instruction * len(listed))(*(_Instruction(*step) for step in listed))
        super().__init__(len(listed), self._instructions)
