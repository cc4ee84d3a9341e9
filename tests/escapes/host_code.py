"""Sources that would run code of this machine, each with what the error must say of it."""

KERNEL = "kernel void k(device float* x, uint i [[thread_position_in_grid]])"


def kernel(body: str, before: str = "") -> str:
    """Return a source of one kernel, `k`, which begins in a separate line."""
    return f"{before}\n{KERNEL} {{\n{body}\n}}\n"


# Name: source, line, and what the message says there.
REFUSED: dict[str, tuple[str, int, str]] = {
    "constructor": (
        kernel("x[i] = 1;", "__attribute__((constructor)) void f() {}"),
        1,
        "attribute `constructor`",
    ),
    "constructor of the standard's spelling": (
        kernel("x[i] = 1;", "[[gnu::__constructor__]] void f() {}"),
        1,
        "attribute `__constructor__`",
    ),
    "destructor among harmless ones": (
        kernel("x[i] = 1;", "__attribute__((noinline, destructor(101))) void f() {}"),
        1,
        "attribute `destructor`",
    ),
    "attributes in a namespace that is used": (
        kernel("x[i] = 1;", "[[using gnu: constructor]] void f() {}"),
        1,
        "using gnu",
    ),
    "digraphs": (
        kernel("x[i] = 1;", "<:<:gnu::constructor:>:> void f() {}"),
        1,
        "attribute `constructor`",
    ),
    "a macro's attribute": (
        kernel("x[i] = 1;", "#define A __attribute__((constructor))\nA void f() {}"),
        2,
        "attribute `constructor`",
    ),
    "an attribute by pragma": (
        kernel(
            "x[i] = 1;",
            "#pragma clang attribute push(__attribute__((constructor)), apply_to=function)\n"
            "void f() {}\n#pragma clang attribute pop",
        ),
        1,
        "#pragma clang attribute",
    ),
    "an attribute by the operator of pragmas": (
        kernel(
            "x[i] = 1;",
            '_Pragma("clang attribute push(__attribute__((constructor)), apply_to=function)")\n'
            "void f() {}",
        ),
        1,
        "#pragma clang attribute",
    ),
    "another name by pragma": (
        kernel("x[i] = f();", "#pragma redefine_extname f getpid\nint f();"),
        1,
        "#pragma redefine_extname",
    ),
    "a weak name by pragma": (kernel("x[i] = 1;", "#pragma weak getpid"), 1, "#pragma weak"),
    "a section by pragma": (
        kernel("x[i] = 1;", '#pragma clang section bss="x"'),
        1,
        "#pragma clang section",
    ),
    "a library by pragma": (
        kernel("x[i] = 1;", '#pragma comment(lib, "c")'),
        1,
        "#pragma comment",
    ),
    "ifunc": (
        kernel("x[i] = f();", '__attribute__((ifunc("g"))) int f();'),
        1,
        "attribute `ifunc`",
    ),
    "alias": (
        kernel("x[i] = 1;", 'int g() { return 1; } __attribute__((alias("g"))) int f();'),
        1,
        "attribute `alias`",
    ),
    "section": (
        kernel("x[i] = 1;", '__attribute__((section(".init_array"))) constant ulong f = 1;'),
        1,
        "attribute `section`",
    ),
    "constructor among erased ones": (
        kernel("x[i] = 1;", '__attribute__((visibility("default"), constructor)) void f() {}'),
        1,
        "attribute `constructor`",
    ),
    "weak": (kernel("x[i] = 1;", "__attribute__((weak)) int getpid();"), 1, "attribute `weak`"),
    "retain": (kernel("x[i] = 1;", "[[gnu::retain]] static void f() {}"), 1, "attribute `retain`"),
    "naked": (kernel("x[i] = 1;", "__attribute__((naked)) void f() {}"), 1, "attribute `naked`"),
    "declspec": (kernel("x[i] = 1;", "__declspec(thread) int f;"), 1, "__declspec"),
    "assembly": (kernel('asm volatile("syscall");\nx[i] = 1;'), 3, "inline assembly"),
    "assembly at program scope": (
        kernel("x[i] = 1;", '__asm__(".incbin \\"/etc/passwd\\"");'),
        1,
        "inline assembly",
    ),
    "assembly in a macro": (
        kernel("A;\nx[i] = 1;", '#define A __asm("nop")'),
        3,
        "inline assembly",
    ),
    "a name by assembly": (
        kernel("x[i] = f();", 'int f() __asm__("getpid");'),
        1,
        "inline assembly",
    ),
    "a register by assembly": (
        kernel('register ulong s asm("rsp");\nx[i] = s;'),
        3,
        "inline assembly",
    ),
    "C linkage": (kernel("x[i] = getpid();", 'extern "C" int getpid();'), 1, '`extern "C"`'),
    "C linkage of several": (
        kernel("x[i] = 1;", 'extern "C" {\nint mb_span() { return 1; }\n}'),
        1,
        '`extern "C"`',
    ),
    "a function of the host": (
        kernel("x[i] = getpid();", "int getpid();"),
        3,
        "getpid() is called, but nothing defines it",
    ),
    "a builtin that calls the host": (
        kernel('__builtin_printf("%d", 1);\nx[i] = 1;'),
        3,
        "__builtin_printf",
    ),
    "a builtin that reads the clock": (
        kernel("x[i] = __builtin_readcyclecounter();"),
        3,
        "__builtin_readcyclecounter",
    ),
    "a builtin of the processor": (
        kernel("x[i] = __builtin_ia32_rdtsc();"),
        3,
        "__builtin_ia32_rdtsc",
    ),
    "the stack's place": (
        kernel("x[i] = (ulong)__builtin_frame_address(0);"),
        3,
        "__builtin_frame_address",
    ),
    "where to return to": (
        kernel("x[i] = (ulong)__builtin_return_address(0);"),
        3,
        "__builtin_return_address",
    ),
    "the engine's namespace": (
        kernel("x[i] = sizeof(mb::Launch);"),
        3,
        "namespace mb, which is the engine's own",
    ),
    "the engine's namespace in a using-directive": (
        kernel("x[i] = sizeof(Launch);", "using namespace mb;"),
        1,
        "namespace mb, which is the engine's own",
    ),
    "the engine's macros": (
        kernel("x[i] = 1;", "MB_EXPORT void f() {}"),
        1,
        "MB_EXPORT, a name of the engine's own",
    ),
    "the engine's functions": (
        kernel('mb_log_write(2, "hello", 5);\nx[i] = 1;'),
        3,
        "mb_log_write, a name of the engine's own",
    ),
    "the engine's functions, put together": (
        kernel("C(mb_log_, write)(2, 0, 0);\nx[i] = 1;", "#define C(a, b) a##b"),
        3,
        "mb_log_write, a name of the engine's own",
    ),
    "what the engine calls": (kernel("write(2, 0, 0);\nx[i] = 1;"), 3, "write"),
    "a call through a pointer": (
        kernel("float (*p)() = f;\nx[i] = p();", "float f() { return 1; }"),
        4,
        "a call through a pointer to a function",
    ),
    "a call of a number": (
        kernel("x[i] = ((float (*)())0x1000)();"),
        3,
        "a call through a pointer to a function",
    ),
    "a call of a number in a function, a struct and a lambda": (
        kernel(
            "auto f = [&]() { return S{}.get((ulong)x); };\nx[i] = f();",
            "struct S { float get(ulong a) const {\nreturn ((float (*)(float, int))a)(1, 2); } };",
        ),
        2,
        "a call through a pointer to a function",
    ),
    "a call of nothing": (
        kernel("x[i] = ((float (*)(float))nullptr)(1);"),
        3,
        "a call through a pointer to a function",
    ),
    "a call of a number that gives a struct": (
        kernel("x[i] = ((S (*)(device float*))0x1000)(x).a[3];", "struct S { float a[9]; };"),
        3,
        "a call through a pointer to a function",
    ),
    "a call of a member by pointer": (
        kernel(
            "float (S::*p)() = x[i] > 0 ? &S::f : &S::g;\nx[i] = (S{}.*p)();",
            "struct S { float f() { return 1; } float g() { return 2; } };",
        ),
        4,
        "a call through a pointer to a function",
    ),
    "a jump to a number": (
        kernel("goto *(void*)x;\nx[i] = 1;"),
        3,
        "jumps to computed places",
    ),
    "a variable": (
        kernel("x[i] = counter++;", "int counter = 0;"),
        1,
        "program scope variable must reside in constant address space",
    ),
    "a static variable": (
        kernel("static int counter;\nx[i] = counter++;"),
        3,
        "variables in function scope cannot be declared static",
    ),
    "a static array, 8 GB": (
        kernel("x[i] = big[i]++;", "static char big[1ul << 33];"),
        1,
        "program scope variable must reside in constant address space",
    ),
    "a variable of a struct": (
        kernel("x[i] = S::counter++;", "struct S { static inline int counter = 3; };"),
        1,
        "program scope variable must reside in constant address space",
    ),
    "a variable that is initialised by code": (
        kernel("x[i] = s.a;", "struct S { float a; S() { a = 2; } }; constant S s;"),
        1,
        "s, a variable at program scope",
    ),
    "a thread-local variable": (
        kernel("x[i] = counter++;", "thread_local int counter;"),
        1,
        "thread-local variables",
    ),
    "new": (kernel("int* p = new int;\nx[i] = *p;"), 3, "`new`"),
    "delete": (kernel("int* p = nullptr;\ndelete p;\nx[i] = 1;"), 4, "`delete`"),
    "an exception": (kernel("throw 1;"), 3, "exceptions"),
    "type identification": (kernel("x[i] = typeid(int) == typeid(x);"), 3, "type identification"),
    "a virtual function": (
        kernel("x[i] = 1;", "struct S { virtual float f() { return 1; } };"),
        1,
        "virtual functions",
    ),
    "an embedded file": (
        kernel("x[i] = e[0];", 'constant uchar e[] = {\n#embed "/etc/passwd"\n};'),
        2,
        "#embed",
    ),
    "an embedded file, in pieces": (
        kernel("x[i] = e[0];", 'constant uchar e[] = {\n#/* */em\\\nbed "/etc/passwd"\n};'),
        1,
        "#embed",
    ),
    "a file of the system": (
        kernel("x[i] = 1;", '#include "/etc/passwd"'),
        1,
        "#include of /etc/passwd",
    ),
    "a file of the system whose lines clang would show": (
        kernel("x[i] = 1;", "#include </etc/ld.so.conf>"),
        1,
        "#include of /etc/ld.so.conf",
    ),
    "a computed name": (
        kernel("x[i] = 1;", '#define P "/etc/passwd"\n#include P'),
        1,
        "#include of /etc/passwd",
    ),
    "a device": (kernel("x[i] = 1;", '#include "/dev/zero"'), 1, "#include of /dev/zero"),
    "whether there is a file": (
        kernel("x[i] = 1;", '#if __has_include("/etc/passwd")\n#endif'),
        1,
        "__has_include",
    ),
    "whether there is a file, by a macro": (
        kernel("x[i] = 1;", '#define H __has_include\n#if H("/etc/passwd")\n#endif'),
        1,
        "__has_include",
    ),
}
