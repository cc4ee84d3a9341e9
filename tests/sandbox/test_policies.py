"""Filters of system calls on each processor, run by an interpreter of what seccomp runs."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest

from metalbench.errors import Unsupported
from metalbench.sandbox import seccomp
from metalbench.sandbox.seccomp import ALLOW, TRAP, Condition, Policy, Rule, make_refusal
from metalbench.sandbox.system_calls import SystemCallTable, load_system_calls

PROCESSORS = ["x86_64", "aarch64"]
THREAD, FORK = 0x003D0F00, 17
OWN, OTHER = 4321, 1
READ, EXECUTABLE = 1, 5


def decided(
    program: Sequence[seccomp.Instruction],
    here: SystemCallTable,
    number: int,
    arguments: Sequence[int] = (),
) -> int:
    """Return the decision of a filter for a call."""
    data = {seccomp.NUMBER: number, seccomp.ARCHITECTURE: here.audit}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        for half in (0, 1):
            data[seccomp.FIRST_ARGUMENT + 8 * place + 4 * half] = value >> 32 * half & 0xFFFFFFFF
    loaded, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            loaded = data[value]
            continue
        holds = {
            seccomp.JUMP_EQUAL: loaded == value,
            seccomp.JUMP_NOT_BELOW: loaded >= value,
            seccomp.JUMP_ANY_BIT: bool(loaded & value),
        }[code]
        at += if_true if holds else if_false


def asked(
    policy: tuple[Policy, int], processor: str, name: str, arguments: Sequence[int] = ()
) -> int:
    here = load_system_calls(processor)
    program = seccomp.assemble(here, *policy)
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
        ("clone3", (), make_refusal(errno.ENOSYS)),
        ("mmap", (0, 4096, READ), ALLOW),
        ("mmap", (0, 4096, EXECUTABLE), make_refusal()),
        ("mprotect", (0, 4096, READ), ALLOW),
        ("mprotect", (0, 4096, EXECUTABLE), make_refusal()),
        ("tgkill", (OWN, OWN, 23), ALLOW),
        ("tgkill", (OTHER, OTHER, 23), TRAP),
        ("kill", (OTHER, 9), TRAP),
        ("kill", ((1 << 64) - 1, 9), TRAP),
        ("rt_sigaction", (11,), ALLOW),
        ("rt_sigaction", (31,), make_refusal()),
        ("prlimit64", (0, 7, 0), ALLOW),
        ("prlimit64", (0, 7, 0x7000_1234), make_refusal()),
        ("prlimit64", (0, 7, 0x7000_0000_0000), make_refusal()),
        ("prlimit64", (OTHER, 7, 0), make_refusal()),
        ("openat", (), make_refusal()),
        ("execve", (), TRAP),
        ("socket", (), TRAP),
        ("ptrace", (), TRAP),
    ],
)
def test_system_calls_allowed_in_a_sealed_process(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    assert asked(seccomp.make_sealed_policy(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("clone", (FORK,), ALLOW),
        ("execve", (), ALLOW),
        ("clone", (FORK | 0x10000000,), make_refusal()),
        ("setsid", (), make_refusal()),
        ("kill", (OWN, 9), make_refusal()),
        ("kill", ((1 << 64) - OWN, 9), make_refusal()),
        ("kill", (OTHER, 9), ALLOW),
        ("socket", (1,), make_refusal(errno.EACCES)),
        ("socketpair", (1,), ALLOW),
        ("io_uring_setup", (), make_refusal()),
    ],
)
def test_system_calls_allowed_in_a_working_process(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    """OWN is the number of the process that has started it."""
    assert asked(seccomp.make_worker_policy(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("clone", (THREAD,), ALLOW),
        ("clone", (FORK,), make_refusal()),
        ("clone", (0,), make_refusal()),
        ("clone", (0x4111,), make_refusal()),
        ("clone", (THREAD | 0x10000000,), make_refusal()),
        ("clone3", (), make_refusal(errno.ENOSYS)),
        ("execve", (), make_refusal()),
        ("execveat", (), make_refusal()),
        ("prctl", (36, 0), make_refusal()),
        ("prctl", (15,), ALLOW),
        ("setsid", (), make_refusal()),
        ("openat", (), ALLOW),
    ],
)
def test_system_calls_allowed_in_an_executor_before_its_seal(
    processor: str, name: str, arguments: tuple[int, ...], action: int
) -> None:
    """Threads and files, and no process and no program."""
    assert asked(seccomp.make_executor_policy(OWN), processor, name, arguments) == action


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize(("family", "action"), [(1, ALLOW), (2, make_refusal(errno.EACCES))])
def test_sockets_for_libraries_are_local(processor: str, family: int, action: int) -> None:
    policy = seccomp.make_worker_policy(OWN, local_sockets=True)
    assert asked(policy, processor, "socket", (family,)) == action


@pytest.mark.parametrize(
    "policy", [seccomp.make_sealed_policy(OWN), seccomp.make_worker_policy(OWN)]
)
def test_tables_of_other_processors_are_trapped(policy: tuple[Policy, int]) -> None:
    here = load_system_calls("x86_64")
    program = seccomp.assemble(here, *policy)
    assert decided(program, SystemCallTable(0x40000003, {}), here.numbers["read"]) == TRAP
    assert decided(program, here, seccomp.X32 + here.numbers["read"]) == TRAP


def test_the_first_rule_that_applies_decides_and_all_its_tests_must_pass() -> None:
    both = (Condition(0, equal=1), Condition(1, any_bit=6))
    first, second = make_refusal(7), make_refusal(8)
    policy = {"read": (Rule(first, both), Rule(second, (Condition(0, equal=1),)))}
    for arguments, action in (((1, 2), first), ((1, 1), second), ((2, 2), ALLOW)):
        assert asked((policy, ALLOW), "aarch64", "read", arguments) == action


def test_system_call_names_depend_on_the_processor() -> None:
    assert load_system_calls("x86_64").name(59) == "execve"
    assert load_system_calls("aarch64").name(221) == "execve"
    assert load_system_calls("aarch64").name(4000) == "system call 4000"
    assert "fork" not in load_system_calls("aarch64").numbers
    with pytest.raises(Unsupported, match="expected x86_64 or aarch64, got riscv64"):
        load_system_calls("riscv64")


@pytest.mark.parametrize("name", seccomp._SEALED.split() + seccomp._FORBIDDEN.split())
def test_every_name_of_a_policy_is_a_system_call(name: str) -> None:
    assert any(name in load_system_calls(each).numbers for each in PROCESSORS)
