"""System call policies of a worker, a compiler, an executor and a sealed process."""

from __future__ import annotations

import errno

from metalbench.isolation.confinement.bpf import ALLOW, TRAP, Condition, Policy, Rule, make_refusal

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
    sched_setaffinity sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
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


def make_worker_policy(parent: int, *, local_sockets: bool = False) -> tuple[Policy, int]:
    """Return the policy of a process that compiles and runs Python, and of its children.

    They cannot leave the process group and cannot signal `parent`. Socket pairs are allowed, and
    Unix sockets with `local_sockets`.
    """
    no_socket = Rule(make_refusal(errno.EACCES))
    local = Rule(ALLOW, (Condition(0, equal=AF_UNIX),))
    others = tuple(
        Rule(make_refusal(), (Condition(0, equal=each),)) for each in (parent, -parent, -1)
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
