"""Assemble classic BPF programs for seccomp(2): rules on the number and arguments of a call.

Rules apply in their order, and the first match decides.
"""

from __future__ import annotations

import ctypes
import errno
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metalbench.errors import Unsupported
from metalbench.sandbox.system_calls import (
    SystemCallTable,
    get_address,
    load_system_calls,
    set_no_new_privileges,
    system_call,
)

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


class FilterProgram(ctypes.Structure):
    """`struct sock_fprog`; it keeps its instructions alive."""

    _fields_ = [
        ("length", ctypes.c_uint16),
        ("instructions", ctypes.POINTER(_Instruction)),
    ]

    def __init__(self, steps: Iterable[Instruction]) -> None:
        listed = list(steps)
        self._instructions = (_Instruction * len(listed))(*(_Instruction(*step) for step in listed))
        super().__init__(len(listed), self._instructions)


# System call policies of a worker, a compiler, an executor and a sealed process.

PROT_EXEC = 4
CLONE_THREAD = 0x00010000
# Clone flags that the C libraries create a thread with; CLONE_DETACHED is musl's.
OF_THREADS = 0x003D0F00 | 0x00400000
NEW_NAMESPACES = 0x7E020080
SIGSYS = 31
AF_UNIX = 1
F_GETFD, F_SETFD, F_GETFL = 1, 2, 3
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36

# Memory, threads, time and open descriptors.
_SEALED = """
    futex read write clock_gettime clock_nanosleep nanosleep sched_yield poll ppoll restart_syscall
    futex_wait futex_wake futex_waitv futex_requeue set_robust_list get_robust_list rseq membarrier
    set_tid_address brk munmap mremap madvise mincore getrandom
    readv writev pread64 pwrite64 lseek recvfrom recvmsg sendto sendmsg select pselect6
    close close_range dup dup2 dup3 fstat
    rt_sigprocmask rt_sigreturn rt_sigtimedwait rt_sigpending sigaltstack
    clock_getres gettimeofday time times getrusage getrlimit sched_getaffinity getcpu sysinfo
    getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    exit exit_group
"""
# Calls that libraries attempt and can do without: they fail instead of ending the process.
_FAILING = """
    open openat openat2 creat stat lstat newfstatat statx access faccessat faccessat2 readlink
    readlinkat getdents getdents64 getcwd chdir statfs fstatfs ioctl uname
    unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir chmod fchmod fchmodat utimensat
    ftruncate truncate fsync fdatasync flock fallocate fadvise64 sync_file_range
    sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
    sched_get_priority_min setpriority getpriority get_mempolicy set_mempolicy mbind
    mlock mlock2 munlock mlockall munlockall msync memfd_create eventfd eventfd2 pipe pipe2
    epoll_create epoll_create1 timerfd_create timer_create setitimer getitimer alarm pause
    getsockopt getsockname getpeername shutdown arch_prctl setrlimit inotify_init1
"""
# Calls that no process here needs: other processes, the system, keys, privileges.
_FORBIDDEN = """
    setsid setpgid ptrace process_vm_readv process_vm_writev process_madvise process_mrelease
    pidfd_open pidfd_getfd pidfd_send_signal kcmp setns unshare mount umount2 pivot_root chroot
    move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr
    bpf io_uring_setup io_uring_enter io_uring_register userfaultfd perf_event_open
    keyctl add_key request_key init_module finit_module delete_module kexec_load kexec_file_load
    reboot swapon swapoff acct quotactl quotactl_fd name_to_handle_at open_by_handle_at
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname syslog iopl ioperm
    personality vhangup lookup_dcookie move_pages migrate_pages fanotify_init modify_ldt
"""
# Calls that start a process or a program. For `clone` its flags decide.
_NEW_PROCESSES = "fork vfork execve execveat"
_SIGNALS = "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"


def _map_calls(names: str, action: int) -> dict[str, tuple[Rule, ...]]:
    return dict.fromkeys(names.split(), (Rule(action),))


# Its flags are in memory, which a filter cannot read. After ENOSYS the C library uses `clone`.
_NO_CLONE3 = {"clone3": (Rule(make_refusal(errno.ENOSYS)),)}


def make_sealed_policy(process: int) -> tuple[Policy, int]:
    """Return the policy of the sealed process with ID `process`, and the action for other calls.

    It may use memory that is not executable, threads, time, and open descriptors. A deliberate
    attempt at more ends it; calls that libraries make in passing fail.
    """
    allow, fail = Rule(ALLOW), Rule(make_refusal())
    not_executable = (Rule(make_refusal(), (Condition(2, any_bit=PROT_EXEC),)), allow)
    own = (Rule(ALLOW, (Condition(0, equal=process),)),)
    only_asks = (Condition(0, equal=0), Condition(2, equal=0), Condition(2, equal=0, half=1))
    policy: Policy = {
        **_map_calls(_SEALED, ALLOW),
        **_map_calls(_FAILING, make_refusal()),
        **_NO_CLONE3,
        "mmap": not_executable,
        "mprotect": not_executable,
        "clone": (
            Rule(TRAP, (Condition(0, any_bit=~OF_THREADS),)),
            Rule(ALLOW, (Condition(0, any_bit=CLONE_THREAD),)),
        ),
        "tgkill": own,
        "kill": own,
        "sched_setaffinity": (Rule(ALLOW, (Condition(0, equal=0),)), fail),  # the calling thread's
        "rt_sigaction": (Rule(make_refusal(), (Condition(0, equal=SIGSYS),)), allow),
        "prlimit64": (Rule(ALLOW, only_asks), fail),
        "prctl": (Rule(ALLOW, (Condition(0, equal=PR_SET_NAME),)), fail),
        # The owner of a descriptor, which receives signals, must not change.
        "fcntl": (
            *(Rule(ALLOW, (Condition(1, equal=each),)) for each in (F_GETFD, F_SETFD, F_GETFL)),
            fail,
        ),
    }
    return policy, TRAP


def make_worker_policy(*parents: int, local_sockets: bool = False) -> tuple[Policy, int]:
    """Return the policy of a process that compiles and runs Python, and of its children.

    They cannot leave the process group and cannot signal `parents`. Socket pairs are allowed, and
    Unix sockets with `local_sockets`.
    """
    no_socket = Rule(make_refusal(errno.EACCES))
    local = Rule(ALLOW, (Condition(0, equal=AF_UNIX),))
    others = tuple(
        Rule(make_refusal(), (Condition(0, equal=each),))
        for each in (*parents, *(-parent for parent in parents), -1)
    )
    policy: Policy = {
        **_map_calls(_FORBIDDEN, make_refusal()),
        **_NO_CLONE3,
        "clone": (Rule(make_refusal(), (Condition(0, any_bit=NEW_NAMESPACES),)), Rule(ALLOW)),
        **dict.fromkeys(_SIGNALS.split(), (*others, Rule(ALLOW))),
        "socket": (local, no_socket) if local_sockets else (no_socket,),
        "socketpair": (local, no_socket),
        # It remains the parent of orphans, see `lifetime.adopt_orphans`.
        "prctl": (Rule(make_refusal(), (Condition(0, equal=PR_SET_CHILD_SUBREAPER),)), Rule(ALLOW)),
    }
    return policy, ALLOW


def make_executor_policy(parent: int) -> tuple[Policy, int]:
    """Return the policy of an executor before its seal.

    Threads can be created. A new process or program is refused; libraries that try to start one
    during import continue without it. Loading a kernel's object can run code of that object, so
    this policy is in force by then.
    """
    policy, otherwise = make_worker_policy(parent)
    threads_only = (
        Rule(make_refusal(), (Condition(0, any_bit=~OF_THREADS),)),
        Rule(ALLOW, (Condition(0, any_bit=CLONE_THREAD),)),
        Rule(make_refusal()),
    )
    return {
        **policy,
        **_map_calls(_NEW_PROCESSES, make_refusal()),
        "clone": threads_only,
    }, otherwise


def make_compiler_policy(parent: int) -> tuple[Policy, int]:
    """Return the policy of a compiler that `parent` starts: a worker's, without IPC and sockets."""
    policy, otherwise = make_worker_policy(parent)
    further = "socketpair connect bind listen accept accept4 shmget shmat msgget semget mq_open"
    return {**policy, **_map_calls(further, make_refusal())}, otherwise


# Install system call filters, seccomp(2). They are permanent, and children inherit them.

SET_MODE_FILTER, EVERY_THREAD = 1, 1
# SECCOMP_FILTER_FLAG_SPEC_ALLOW: Linux before 5.16 otherwise disables speculative store bypass in
# filtered threads. That slows timed code down, and would only protect the process from itself.
SPEC_ALLOW = 4


def install_filter(policy: Policy, otherwise: int, *, every_thread: bool) -> None:
    """Filter the calls of this thread and its children, or of `every_thread` of the process.

    Raises Unsupported with the reason if that is not possible. Then nothing has changed.
    """
    program = FilterProgram(assemble(load_system_calls(), policy, otherwise))
    try:
        set_no_new_privileges()
        flags = SPEC_ALLOW | (EVERY_THREAD if every_thread else 0)
        other = system_call("seccomp", SET_MODE_FILTER, flags, get_address(program))
    except OSError as error:
        raise Unsupported(f"seccomp: {error.strerror}") from error
    if other:
        raise Unsupported(f"seccomp: thread {other} already has another filter")


# Parse the report of a sealed process that a forbidden system call ended.

# Format of csrc/cpu/linux/refused_calls.cpp.
_REFUSED = re.compile(r"^\[confinement\] refused system call (\d+)$", re.M)


def parse_refused_call(last_words: str) -> str | None:
    """Return the system call that ended a process, from its output; None without one."""
    told = _REFUSED.search(last_words)
    if told is None:
        return None
    try:
        return load_system_calls().name(int(told[1]))
    except Unsupported:
        return f"system call {told[1]}"
