"""Assemble classic BPF programs for seccomp(2): rules on the number and arguments of a call.

Rules apply in their order, and the first match decides.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.isolation.confinement.system_calls import SystemCallTable

LOAD, JUMP_EQUAL, JUMP_NOT_BELOW, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in `struct seccomp_data`; each argument has 64 bits.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW = 0x7FFF0000
# Send SIGSYS: a handler can report the call; without a handler the process ends.
TRAP = 0x00030000
# Calls of the x32 ABI have this bit, and would bypass a filter for the plain numbers.
X32 = 0x40000000


def make_refusal(number: int = errno.EPERM) -> int:
    """Return the action that makes a call fail with this errno."""
    return 0x00050000 | number


class Condition(NamedTuple):
    """A condition on one 32-bit half of an argument: equality, or any of some bits.

    Most arguments are `int`, or flags without a defined upper bit. Pointers have two halves; `half`
    1 is the upper one.
    """

    argument: int
    equal: int | None = None
    any_bit: int = 0
    half: int = 0


class Rule(NamedTuple):
    """The action for a call that meets all conditions."""

    action: int
    conditions: tuple[Condition, ...] = ()


Instruction = tuple[int, int, int, int]
Policy = Mapping[str, Sequence[Rule]]


def assemble(machine: SystemCallTable, policy: Policy, otherwise: int) -> list[Instruction]:
    """Return the instructions of a policy: code, jump if true, jump if false, value.

    `policy` maps names of calls to rules. Calls that this processor lacks are omitted. `otherwise`
    is the action for other calls and for calls without a matching rule. Calls of another
    architecture are trapped.
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
    """Return the instructions of a rule. Each condition that fails jumps past the return."""
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
    """`struct sock_fprog`; it keeps its instructions alive."""

    _fields_ = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]

    def __init__(self, steps: Iterable[Instruction]) -> None:
        listed = list(steps)
        self._instructions = (_Instruction * len(listed))(*(_Instruction(*step) for step in listed))
        super().__init__(len(listed), self._instructions)
