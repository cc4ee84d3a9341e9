"""Escapes that code of the host tries after the front end, in C, and how they are built.

Each escape is a function without arguments that returns 0 if it has done what it should not.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.sandbox.system_calls import load_system_calls

# System calls without a C library; a failure is a negative number.
_PRELUDE = r"""
typedef unsigned long word;
#if defined(__x86_64__)
static long call(long n, word a, word b, word c, word d, word e, word f) {
  register word r10 asm("r10") = d; register word r8 asm("r8") = e; register word r9 asm("r9") = f;
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#else
static long call(long n, word a, word b, word c, word d, word e, word f) {
  register long x8 asm("x8") = n; register word x0 asm("x0") = a; register word x1 asm("x1") = b;
  register word x2 asm("x2") = c; register word x3 asm("x3") = d; register word x4 asm("x4") = e;
  register word x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return (long)x0;
}
#endif
#define C6(n, a, b, c, d, e, f, ...) \
  call(SYS_##n, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), (word)(f))
#define CALL(...) C6(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define HERE -100
#define FAILED(x) ((x) < 0 && (x) > -4096)
extern char** environ;
extern void* dlopen(const char*, int);
extern void* dlsym(void*, const char*);
extern char* getenv(const char*);
extern void _exit(int);
static int opens(const char* path, int flags) {
  return FAILED(CALL(openat, HERE, path, flags, 0600));
}
static word parent(void) { return CALL(getppid); }
static void path_of_parent(char* path, const char* file) {
  char digits[12]; int count = 0; word number = parent();
  for (const char* c = "/proc/"; *c; ++c) *path++ = *c;
  do { digits[count++] = '0' + number % 10; } while (number /= 10);
  while (count) *path++ = digits[--count];
  while ((*path++ = *file++)) {}
}
static char* const NONE[] = {0};
static char* const TRUE[] = {"sh", "-c", "exit 0", 0};
static int child(long made) { if (made == 0) _exit(0); return FAILED(made); }
"""


@dataclass(frozen=True)
class Escape:
    """C of a function's body; and whether a process that was only confined, not sealed, refuses it.

    `possible` are those that an ordinary process may do, on any machine.
    """

    body: str
    confined: bool = False
    possible: bool = True


def _socket(family: int, kind: int = 1, *, possible: bool = True) -> Escape:
    return Escape(f"return FAILED(CALL(socket, {family}, {kind}, 0));", True, possible)


# $FOLDER is one that the process has no business in.
ESCAPES = {
    "reads a file": Escape('return opens("$FOLDER/secret", 0);', True),
    "writes a file": Escape('return opens("$FOLDER/secret", 1);', True),
    "makes a file": Escape('return opens("$FOLDER/made", 0101);', True),
    "empties a file": Escape('return opens("$FOLDER/emptied", 01001);', True),
    "removes a file": Escape('return FAILED(CALL(unlinkat, HERE, "$FOLDER/removed", 0));', True),
    "renames a file": Escape(
        'return FAILED(CALL(renameat2, HERE, "$FOLDER/moved", HERE, "$FOLDER/elsewhere", 0));', True
    ),
    "lists a folder": Escape('return opens("$FOLDER", 0200000);', True),
    "writes to the store": Escape('return opens("$FOLDER/results.db", 2);', True),
    "writes to installed sources": Escape('return opens("$PACKAGE/errors.py", 1);', True),
    "reads the environment": Escape(
        'for (char** e = environ; e && *e; ++e) if ((*e)[0]) return 0; return !getenv("PATH");'
    ),
    "reads the environment's file": Escape('return opens("/proc/self/environ", 0);'),
    "reads its parent's memory": Escape(
        'char path[64]; path_of_parent(path, "/mem"); return opens(path, 2);', True
    ),
    "rewrites its own code by file": Escape('return opens("/proc/self/mem", 2);'),
    "makes a socket of this machine's": _socket(1),
    "makes a socket of the internet": _socket(2),
    "makes a socket of the internet, version 6": _socket(10, 2, possible=False),
    "makes a socket to the kernel": _socket(16, 3, possible=False),
    "makes a socket of packets": _socket(17, 3, possible=False),
    "makes a socket of ciphers": _socket(38, 5, possible=False),
    "makes a socket to the virtual machine's host": _socket(40, possible=False),
    "starts a program": Escape('return FAILED(CALL(execve, "/bin/sh", TRUE, NONE));', True),
    "starts a program by descriptor": Escape(
        'return FAILED(CALL(execveat, HERE, "/bin/sh", TRUE, NONE, 0));', True
    ),
    "starts a program from memory": Escape(
        'long file = CALL(memfd_create, "x", 0);\nreturn FAILED(file);'
    ),
    "forks": Escape("return child(CALL(clone, 17));", True),
    "forks and shares its memory": Escape("return child(CALL(clone, 0x4011));", True),
    "forks without a signal at the end": Escape("return child(CALL(clone, 0));", True),
    "forks as a brother": Escape("return child(CALL(clone, 0x8011));", True),
    "forks by the newer call": Escape(
        "static word arguments[11]; arguments[4] = 17;\nreturn child(CALL(clone3, arguments, 88));",
        True,
    ),
    "leaves a grandchild": Escape(
        "long made = CALL(clone, 17);\n"
        "if (made == 0) { if (CALL(clone, 17) == 0) CALL(setsid); _exit(0); }\n"
        "return FAILED(made);",
        True,
    ),
    "leaves a child in another session": Escape(
        "long made = CALL(clone, 17);\n"
        "if (made == 0) _exit(FAILED(CALL(setsid)));\n"
        "int status = 1; if (!FAILED(made)) CALL(wait4, made, &status, 0, 0);\n"
        "return status != 0;",
        True,
    ),
    "leaves its group": Escape("return FAILED(CALL(setpgid, 0, 0));", True),
    "signals its parent": Escape("return FAILED(CALL(kill, parent(), 0));", True),
    "signals its parent's thread": Escape(
        "return FAILED(CALL(tgkill, parent(), parent(), 0));", True
    ),
    "signals its parent by descriptor": Escape(
        "return FAILED(CALL(pidfd_open, parent(), 0));", True, False
    ),
    "enters other namespaces": Escape("return CALL(setns, 0, 0) == -1;", True, False),
    "makes namespaces": Escape("return FAILED(CALL(unshare, 0x10000000));", True, False),
    "traces its parent": Escape(
        "return FAILED(CALL(ptrace, 0x4206, parent(), 0, 0));", True, False
    ),
    "lets itself be traced": Escape("return FAILED(CALL(ptrace, 0, 0, 0, 0));", True, False),
    "reads its parent's memory by call": Escape(
        "char byte; word ours[2] = {(word)&byte, 1}, theirs[2] = {(word)&NONE, 1};\n"
        "return FAILED(CALL(process_vm_readv, parent(), ours, 1, theirs, 1, 0));",
        True,
        False,
    ),
    "loads a library": Escape('return !dlopen("$FOLDER/another.so", 2);', True),
    "finds the C library's functions": Escape(
        'int (*run)(const char*) = (int (*)(const char*))dlsym(0, "system");\n'
        'return !run || run("exit 0") != 0;',
        True,
    ),
    "makes memory executable": Escape("return FAILED(CALL(mmap, 0, 4096, 7, 0x22, -1, 0));"),
    "makes its memory executable": Escape(
        "static char page[8192];\n"
        "return FAILED(CALL(mprotect, ((word)page + 4095) & ~4095ul, 4096, 7));"
    ),
    "queues calls elsewhere": Escape(
        "static char parameters[120];\nreturn FAILED(CALL(io_uring_setup, 1, parameters));",
        True,
        False,
    ),
    "loads a program into the kernel": Escape(
        "static char attributes[120]; return FAILED(CALL(bpf, 0, attributes, 120));", True, False
    ),
    "handles its own page faults": Escape("return FAILED(CALL(userfaultfd, 1));", True, False),
    "asks for keys": Escape("return FAILED(CALL(keyctl, 0, -3, 0));", True, False),
    "mounts": Escape('return FAILED(CALL(mount, "x", "$FOLDER", "tmpfs", 0, 0));', True, False),
    "takes the signal of what is refused": Escape(
        "static word action[4] = {1}; return FAILED(CALL(rt_sigaction, 31, action, 0, 8));"
    ),
    "gets rid of its limits": Escape(
        "word limit[2] = {64, 64}; return FAILED(CALL(prlimit64, 0, 7, limit, 0));"
    ),
    "takes the older table of calls": Escape(
        "#if defined(__x86_64__)\n"
        'long made; asm volatile("int $0x80" : "=a"(made) : "a"(20) : "memory");\n'
        "return FAILED(made);\n"
        "#else\nreturn 1;\n#endif",
        True,
        False,
    ),
    "takes the table of calls with short pointers": Escape(
        "#if defined(__x86_64__)\nreturn FAILED(call(0x40000000 + 39, 0, 0, 0, 0, 0, 0));\n"
        "#else\nreturn 1;\n#endif",
        True,
        False,
    ),
}


def source(folder: Path, package: Path) -> str:
    """All escapes as one C file: functions escape0, escape1, and so on."""
    written = [_PRELUDE]
    for number, escape in enumerate(ESCAPES.values()):
        body = escape.body.replace("$FOLDER", str(folder)).replace("$PACKAGE", str(package))
        written.append(f"int escape{number}(void) {{\n{body}\n}}\n")
    written.append("void leave(void) { _exit(0); }\n")
    return "\n".join(written)


def build(text: str, target: Path, *libraries: Path) -> None:
    """Compile C to a shared object, which finds the C library in whatever process loads it.

    The libraries are loaded with it, and found where they are now.
    """
    tools = find_toolchain()
    numbers = [f"-DSYS_{name}={number}" for name, number in load_system_calls().numbers.items()]
    made = target.with_suffix(".o")
    compiling = [
        *tools.clang,
        "-x",
        "c",
        "-O1",
        "-fPIC",
        "-w",
        *numbers,
        "-c",
        "-o",
        str(made),
        "-",
    ]
    subprocess.run(compiling, input=text, text=True, check=True)
    linker = [part for part in tools.linker if part not in ("-z", "defs")]
    needed = map(str, libraries)
    subprocess.run([*linker, "-shared", "-o", str(target), str(made), *needed], check=True)
