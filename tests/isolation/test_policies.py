"""Filters of system calls on each processor, run by an interpreter of what seccomp runs."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from metalbench.errors import Unsupported
from metalbench.isolation.confinement import bpf, policies
from metalbench.isolation.confinement.bpf import ALLOW, TRAP, Condition, Policy, Rule, refuse
from metalbench.isolation.confinement.system_calls import Machine, machine

PROCESSORS = ["x86_64", "aarch64"]
THREAD, FORK = 0x003D0F00, 17
OWN, OTHER = 4321, 1
READ, EXECUTABLE = 1, 5


def decided(
    program: Sequence[bpf.Instruction], here: Machine, number: int, arguments: Sequence[int] = ()
) -> int:
    """What a filter returns for a call."""
    data = {bpf.NUMBER: number, bpf.ARCHITECTURE: here.audit}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        for half in (0, 1):
            data[bpf.FIRST_ARGUMENT + 8 * place + 4 * half] = value >> 32 * half & 0xFFFFFFFF
    loaded, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == bpf.RETURN:
            return value
        if code == bpf.LOAD:
            loaded = data[value]
            continue
        holds = {
            bpf.JUMP_EQUAL: loaded == value,
            bpf.JUMP_NOT_BELOW: loaded >= value,
            bpf.JUMP_ANY_BIT: bool(loaded & value),
        }[code]
        at += if_true if holds else if_false


def asked(
    policy: tuple[Policy, int], processor: str, name: str, arguments: Sequence[int] = ()
) -> int:
    here = machine(processor)
    program = bpf.assemble(here, *policy)
    assert all(max(step[1:3]) < 256 for step in program)
    return decided(program, here, here.numbers[name], arguments)


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("futex", (), ALLOW),
        ("read", (), ALLOW),
        ("clone", (THREAD,), ALLOW),
        ("clone", (FORK,), TRAP),
        ("clone", (THREAD | 0x40000000,), TRAP),
        ("clone3", (), refuse(errno.ENOSYS)),
        ("mmap", (0, 4096, READ), ALLOW),
        ("mmap", (0, 4096, EXECUTABLE), refuse()),
        ("mprotect", (0, 4096, READ), ALLOW),
        ("mprotect", (0, 4096, EXECUTABLE), refuse()),
        ("tgkill", (OWN, OWN, 23), ALLOW),
        ("tgkill", (OTHER, OTHER, 23), TRAP),
        ("kill", (OTHER, 9), TRAP),
        ("kill", ((1 << 64) - 1, 9), TRAP),
        ("rt_sigaction", (11,), ALLOW),
        ("rt_sigaction", (31,), refuse()),
        ("prlimit64", (0, 7, 0), ALLOW),
        ("prlimit64", (0, 7, 0x7000_1234), refuse()),
        ("prlimit64", (0, 7, 0x7000_0000_0000), refuse()),
        ("prlimit64", (OTHER, 7, 0), refuse()),
        ("openat", (), refuse()),
        ("execve", (), TRAP),
        ("socket", (), TRAP),
        ("ptrace", (), TRAP),
    ],
)
def test_what_a_sealed_process_may_call(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    assert asked(policies.sealed(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("clone", (FORK,), ALLOW),
        ("execve", (), ALLOW),
        ("clone", (FORK | 0x10000000,), refuse()),
        ("setsid", (), refuse()),
        ("kill", (OWN, 9), refuse()),
        ("kill", ((1 << 64) - OWN, 9), refuse()),
        ("kill", (OTHER, 9), ALLOW),
        ("socket", (1,), refuse(errno.EACCES)),
        ("socketpair", (1,), ALLOW),
        ("io_uring_setup", (), refuse()),
    ],
)
def test_what_a_process_that_works_may_call(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    """OWN is the number of the process that has started it."""
    assert asked(policies.working(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("clone", (THREAD,), ALLOW),
        ("clone", (FORK,), refuse()),
        ("clone", (0,), refuse()),
        ("clone", (0x4111,), refuse()),
        ("clone", (THREAD | 0x10000000,), refuse()),
        ("clone3", (), refuse(errno.ENOSYS)),
        ("execve", (), refuse()),
        ("execveat", (), refuse()),
        ("prctl", (36, 0), refuse()),
        ("prctl", (15,), ALLOW),
        ("setsid", (), refuse()),
        ("openat", (), ALLOW),
    ],
)
def test_what_an_executor_may_call_before_its_seal(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    """Threads and files, and no process and no program."""
    assert asked(policies.executing(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(("family", "action"), [(1, ALLOW), (2, refuse(errno.EACCES))])
def test_sockets_that_a_library_needs_are_of_this_machine(
    processor: str, family: int, action: int
) -> None:
    policy = policies.working(OWN, local_sockets=True)
    assert asked(policy, processor, "socket", (family,)) == action


@pytest.mark.parametrize("policy", [policies.sealed(OWN), policies.working(OWN)])
def test_tables_of_other_processors_are_trapped(policy: tuple[Policy, int]) -> None:
    here = machine("x86_64")
    program = bpf.assemble(here, *policy)
    assert decided(program, Machine(0x40000003, {}), here.numbers["read"]) == TRAP
    assert decided(program, here, bpf.X32 + here.numbers["read"]) == TRAP


def test_the_first_rule_that_applies_decides_and_all_its_tests_must_pass() -> None:
    both = (Condition(0, equal=1), Condition(1, any_bit=6))
    policy = {"read": (Rule(refuse(7), both), Rule(refuse(8), (Condition(0, equal=1),)))}
    for arguments, action in (((1, 2), refuse(7)), ((1, 1), refuse(8)), ((2, 2), ALLOW)):
        assert asked((policy, ALLOW), "aarch64", "read", arguments) == action


def test_names_are_those_of_the_processor() -> None:
    assert machine("x86_64").name(59) == "execve"
    assert machine("aarch64").name(221) == "execve"
    assert machine("aarch64").name(4000) == "system call 4000"
    assert "fork" not in machine("aarch64").numbers
    with pytest.raises(Unsupported, match="expected x86_64 or aarch64, got riscv64"):
        machine("riscv64")


@pytest.mark.parametrize("name", policies._SEALED.split() + policies._OF_NOBODY.split())
def test_every_name_of_a_policy_is_a_system_call(name: str) -> None:
    assert any(name in machine(each).numbers for each in PROCESSORS)
