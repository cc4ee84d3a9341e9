"""Host code under other spellings: each kind in many ways, with what the error says of it."""

from __future__ import annotations

import os

from escapes.host_code import kernel

from metalbench.msl.toolchain.clang import find_toolchain

COPY = "thread void* c(ulong, ulong, threadgroup void*, const device void*, ulong)"
COPY_LABEL = "air.simdgroup_async_copy_1d.p3i8.p1i8"
_ASSEMBLY = "inline assembly"
_INIT = r".globl _init\n_init: ret\n"

# A function inside of an attribute that clang does not know, which it skips.
ASSEMBLY: dict[str, tuple[str, str]] = {
    "two literals": (
        kernel("x[i] = 1;", f'asm("air.wait_simdgroup_events" "_q:\\n{_INIT}");'),
        _ASSEMBLY,
    ),
    "two literals behind a function": (
        kernel("x[i] = 1;", f'{COPY} asm("{COPY_LABEL}" "\\n{_INIT}");'),
        _ASSEMBLY,
    ),
    "two literals of which the first is empty": (
        kernel("x[i] = 1;", f'{COPY} asm("" "{COPY_LABEL}");'),
        _ASSEMBLY,
    ),
    "lines in the label": (
        kernel("x[i] = 1;", f'{COPY} asm("{COPY_LABEL}\\n{_INIT}");'),
        _ASSEMBLY,
    ),
    "an octal escape in the label": (
        kernel("x[i] = 1;", f'{COPY} asm("{COPY_LABEL}\\012{_INIT}");'),
        _ASSEMBLY,
    ),
    "a label at program scope": (
        kernel("x[i] = 1;", 'asm("air.wait_simdgroup_events");'),
        _ASSEMBLY,
    ),
    "a label as a statement": (kernel('asm("air.wait_simdgroup_events");\nx[i] = 1;'), _ASSEMBLY),
    "a label of a variable": (
        kernel("x[i] = q;", 'extern constant float q asm("air.wait_simdgroup_events");'),
        _ASSEMBLY,
    ),
    "a label in brackets": (
        kernel("x[i] = 1;", f'{COPY} asm(("{COPY_LABEL}"));'),
        _ASSEMBLY,
    ),
    "a label with operands": (
        kernel("x[i] = 1;", f'{COPY} asm("{COPY_LABEL}" : : "r"(1));'),
        _ASSEMBLY,
    ),
    "a label before a body": (
        kernel("x[i] = 1;", 'void w(int) asm("air.wait_simdgroup_events") { }'),
        _ASSEMBLY,
    ),
    "a label in front of another declarator": (
        kernel(
            "x[i] = 1;",
            'void w(int) asm("air.wait_simdgroup_events"), v(int) asm("getpid");',
        ),
        _ASSEMBLY,
    ),
    "a label with a qualifier": (
        kernel("x[i] = 1;", 'void w(int) asm volatile("air.wait_simdgroup_events");'),
        _ASSEMBLY,
    ),
    "a raw string": (kernel("x[i] = 1;", 'asm(R"(.globl _init)");'), _ASSEMBLY),
    "between raw strings": (
        kernel(
            "x[i] = s[i];",
            f'static const constant char s[] = R"(")"; asm("{_INIT}");\n'
            'static const constant char t[] = R"(")";',
        ),
        _ASSEMBLY,
    ),
    "between raw strings with delimiters": (
        kernel(
            "x[i] = s[i];",
            f'static const constant char s[] = R"q(")q"; asm("{_INIT}");\n'
            'static const constant char t[] = R"q(")q";',
        ),
        'stray `R"`',
    ),
    "a raw string of lines": (
        kernel("x[i] = 1;", f'asm(R"(\n{_INIT})");'),
        _ASSEMBLY,
    ),
    "a pasted word": (
        kernel('P(as, m)("nop");\nx[i] = 1;', "#define P(a, b) a##b"),
        _ASSEMBLY,
    ),
    "a word pasted of three": (
        kernel(
            'P(P2(__, as), m)("nop");\nx[i] = 1;',
            "#define P2(a, b) P(a, b)\n#define P(a, b) a##b\n",
        ),
        "P2|inline assembly",
    ),
    "a word over two lines": (kernel('as\\\nm("nop");\nx[i] = 1;'), _ASSEMBLY),
    "a word by a universal name": (
        kernel('\\u0061sm("nop");\nx[i] = 1;'),
        "stray `\\\\u`|universal",
    ),
    "volatile": (kernel('__asm__ __volatile__("syscall" ::: "memory");\nx[i] = 1;'), _ASSEMBLY),
    "goto": (kernel('asm goto("jmp %l0" : : : : out);\nout: x[i] = 1;'), _ASSEMBLY),
    "in a function that nothing calls": (
        kernel("x[i] = 1;", 'static void f() { __asm("nop"); }'),
        _ASSEMBLY,
    ),
    "in a template that nothing instantiates": (
        kernel("x[i] = 1;", 'template <class T> void f() { __asm("nop"); }'),
        _ASSEMBLY,
    ),
    "in a lambda": (kernel('auto f = []() { asm(""); return 1; };\nx[i] = f();'), _ASSEMBLY),
    "of a member function": (
        kernel("x[i] = 1;", 'struct S { static int f() asm("getpid"); };'),
        _ASSEMBLY,
    ),
    "by a directive that a macro makes": (
        kernel('A("nop");\nx[i] = 1;', "#define HASH #\nHASH define A __asm__"),
        "stray `#`",
    ),
    "by a digraph that a macro makes": (
        kernel('A("nop");\nx[i] = 1;', "#define HASH %:\nHASH define A __asm__"),
        _ASSEMBLY,
    ),
    "behind a hash in an attribute": (
        kernel("x[i] = f();", 'int f [[q::a(#)]] () { __asm__("nop"); return 1; }'),
        "stray `#",
    ),
    "behind half a quote in an attribute": (
        kernel(
            "x[i] = f();",
            "int f [[q::a(' /*\n)]] () { __asm__(\"nop\"); return 1; }\nint g [[q::a(' */\n)]] ();",
        ),
        "stray `'",
    ),
    "by a pragma of Microsoft's": (
        kernel("x[i] = 1;", '_Pragma("comment(linker, \\"/include:x\\")")'),
        "#pragma comment",
    ),
    "by another pragma operator": (
        kernel("x[i] = 1;", "__pragma(weak getpid)"),
        "#pragma weak",
    ),
    "a function in a section": (
        kernel("x[i] = 1;", '[[gnu::section(".init")]] void f() {}'),
        "attribute `section`",
    ),
    "a function that is kept": (
        kernel("x[i] = 1;", "__attribute((__retain__, __used__)) static void f() {}"),
        "attribute `__(retain|used)__`",
    ),
    "an initialiser of a priority": (
        kernel("x[i] = 1;", "struct S { S() {} }; [[gnu::init_priority(101)]] S s;"),
        "attribute `init_priority`",
    ),
    "a cleanup": (
        kernel("__attribute__((cleanup(f))) int a = 1; x[i] = a;", "void f(thread int*) {}"),
        "attribute `cleanup`",
    ),
    "a thread-local variable of GNU's": (
        kernel("x[i] = t;", "static __thread float t;"),
        "thread-local variables",
    ),
    "a thread-local variable of C's": (
        kernel("x[i] = t;", "static _Thread_local float t;"),
        "thread-local variables",
    ),
    "an initialiser by name": (
        kernel("x[i] = _init;", "extern const constant int _init = 0xc3;"),
        "DT_INIT|_init",
    ),
    "an end by name": (
        kernel("x[i] = _fini;", "extern const constant int _fini = 0xc3;"),
        "DT_FINI|_fini",
    ),
    "a name of a library": (
        kernel("x[i] = environ[0];", "extern constant char* constant environ;"),
        "environ",
    ),
}

# Threadgroup variables `s` and `y` are the rewriter's to name.
GROUP = "threadgroup float s[32]; threadgroup float y; s[i % 32] = y = 1;\n"
STATIC = "variables in function scope cannot be declared static"
NOT_CONSTANT = "that is not constant|program scope variable must reside in constant address space"
OWN_NAME = "a name of the (engine|compiler)'s own"
STATICS: dict[str, tuple[str, str]] = {
    "behind the name of a storage": (
        kernel("xmb_storage_y[i % 4] += 1;\nx[i] = 1;", "static float xmb_storage_y[4];"),
        NOT_CONSTANT,
    ),
    "behind the name of a part": (
        kernel("x[i] = amb_part_++;", "static uint amb_part_;"),
        NOT_CONSTANT,
    ),
    "the beginning of a section": (
        kernel("x[i] = __start_mb_q[0]++;", "float __start_mb_q[4];"),
        OWN_NAME,
    ),
    "the end of a section": (kernel("x[i] = __stop_q++;", "int __stop_q;"), OWN_NAME),
    "the engine's section": (
        kernel("x[i] = __start_mb_threadgroup[0];", "extern float __start_mb_threadgroup[4];"),
        OWN_NAME,
    ),
    "the name of a storage": (
        kernel(f"{GROUP}x[i] = mb_storage_s++;", "static int mb_storage_s;"),
        OWN_NAME,
    ),
    "the mangled name of a storage": (
        kernel(f"{GROUP}x[i] = q12mb_storage_s++;", "static int q12mb_storage_s;"),
        OWN_NAME,
    ),
    "the mangled name of a local storage": (
        kernel(f"{GROUP}static int _ZZ1kE12mb_storage_s; x[i] = _ZZ1kE12mb_storage_s++;"),
        OWN_NAME,
    ),
    "the name of the engine's facts": (
        kernel("x[i] = _ZZ7mb_infoE4info++;", "int _ZZ7mb_infoE4info;"),
        OWN_NAME,
    ),
    "a mangled name in the engine's namespace": (
        kernel("x[i] = _ZN2mb1aE++;", "int _ZN2mb1aE;"),
        OWN_NAME,
    ),
    "near a storage, in a namespace": (
        kernel(f"{GROUP}x[i] = n::amb_storage_s++;", "namespace n { static int amb_storage_s; }"),
        NOT_CONSTANT,
    ),
    "near a storage, in a function": (
        kernel(f"{GROUP}static int tmb_storage_s; x[i] = tmb_storage_s++;"),
        STATIC,
    ),
    "near a storage, in a template": (
        kernel(
            f"{GROUP}x[i] = f<int>();",
            "template <class T> T f() { static T tmb_part_s; return tmb_part_s++; }",
        ),
        STATIC,
    ),
    "near a storage, a member": (
        kernel(
            f"{GROUP}x[i] = S::tmb_part_y++;", "struct S { static inline int tmb_part_y = 0; };"
        ),
        NOT_CONSTANT,
    ),
    "near a storage, a variable template": (
        kernel(f"{GROUP}x[i] = tmb_part_y<int>++;", "template <class T> static T tmb_part_y;"),
        NOT_CONSTANT,
    ),
    "named after a storage's function": (
        kernel("static int counter; x[i] = counter++;\n" + GROUP),
        STATIC,
    ),
    "a compound literal": (
        kernel("x[i] = p[0]++;", "static int* const p = (int[2]){1, 2};"),
        NOT_CONSTANT + "|no viable|cannot|address",
    ),
    "a temporary that lives on": (
        kernel("x[i] = r++;", "static int&& r = 3;"),
        NOT_CONSTANT,
    ),
    "a constant with a member that changes": (
        kernel("x[i] = s.a++;", "struct S { mutable int a = 3; }; static const S s;"),
        NOT_CONSTANT,
    ),
    "a variable that a lambda keeps": (
        kernel("auto f = [n = 0]() mutable { static int kept; return kept++ + n; };\nx[i] = f();"),
        STATIC,
    ),
    "by an alias of the engine's namespace": (
        kernel("x[i] = sizeof(m::Launch);", "namespace m = mb;"),
        "namespace mb, which is the engine's own",
    ),
}

_NAMESPACE = "namespace mb, which is the engine's own"
NAMESPACES: dict[str, tuple[str, str]] = {
    name: (kernel("x[i] = 1;", before), _NAMESPACE)
    for name, before in {
        "an alias": "namespace q = mb;",
        "an alias from program scope": "namespace q = ::mb;",
        "an alias over two lines": "namespace q =\n::\nmb;",
        "an alias by a macro": "#define N mb\nnamespace q = ::N;",
        "an alias by a pasted name": "#define P(a, b) a##b\nnamespace q = ::P(m, b);",
        "an alias by a name over two lines": "namespace q = ::m\\\nb;",
        "an alias in a namespace": "namespace n { namespace q = ::mb; }",
        "an alias behind a pragma": 'namespace q = ::\n_Pragma("unroll") mb;',
        "a directive": "using namespace mb;",
        "a directive from program scope": "using namespace ::mb;",
        "a directive behind an attribute": "[[deprecated]] using namespace ::mb;",
        "a directive behind another attribute": "__attribute__((unused)) using namespace ::mb;",
        "a directive in a namespace": "namespace n { using namespace ::mb; }",
        "a directive in a function": "void f() { using namespace ::mb; }",
        "a declaration": "using mb::Group;",
        "a declaration from program scope": "using ::mb::Group;",
        "a definition": "namespace mb { }",
        "a definition behind an attribute": "namespace [[deprecated]] mb { }",
        "a definition behind GNU's attribute": "namespace __attribute__((deprecated)) mb { }",
        "a definition behind an attribute of brackets": 'namespace [[deprecated("{;}")]] mb { }',
        "a definition behind an attribute of any tokens": "namespace [[q::a({;}; {})]] mb { }",
        "an inline definition": "inline namespace mb { }",
        "a nested definition": "namespace mb::q { }",
        "a definition inside another": "namespace q { namespace mb { } }",
        "a use": "constant int q = sizeof(mb::Group);",
        "a use behind `::`": "constant int q = sizeof(::mb::Group);",
        "a use with blanks": "constant int q = sizeof(:: mb\n:: Group);",
        "a base class": "struct S : ::mb::Group { };",
        "a template's argument": "template <class T> struct S { };\nS<::mb::Group> s();",
        "a friend": "struct S { friend struct ::mb::Group; };",
    }.items()
}
LINKAGES: dict[str, tuple[str, str]] = {
    name: (kernel("x[i] = 1;", before), "`extern .*a kernel may have what Metal has")
    for name, before in {
        "a raw string": 'extern R"(C)" long write(int, const void*, unsigned long);',
        "a raw string's block": 'extern R"(C)" { long write(int, const void*, unsigned long); }',
        "a raw string of C++": 'extern R"(C++)" long write(int, const void*, unsigned long);',
        "UTF-8": 'extern u8"C" long getpid();',
        "a raw string of UTF-8": 'extern u8R"(C)" long getpid();',
        "wide characters": 'extern L"C" long getpid();',
        "16 bits": 'extern u"C" long getpid();',
        "32 bits": 'extern U"C" long getpid();',
        "two literals": 'extern "" "C" long getpid();',
        "a literal and a raw one": 'extern "" R"(C)" long getpid();',
        "a literal of a macro": '#define S "C"\nextern S long getpid();',
        "a raw literal of a macro": '#define S R"(C)"\nextern S long getpid();',
        "a literal of an operator": "#define S(a) #a\nextern S(C) long getpid();",
        "an escape": 'extern "\\x43" long getpid();',
        "a word over two lines": 'ext\\\nern R"(C)" long getpid();',
        "a kernel by a raw string": 'extern R"(C)" kernel void q(device float* x) { }',
        "a definition": 'extern R"(C)" void* memset(void* a, int, unsigned long) { return a; }',
    }.items()
}
LINKAGES["a raw string with a delimiter"] = (
    kernel("x[i] = 1;", 'extern R"q(C)q" long getpid();'),
    "stray",
)
# What the linkage of kernels lets in, and no spelling shows.
_HOST = "nothing defines it|function that is not Metal's|function of the host|use of undeclared"
IMPORTS: dict[str, tuple[str, str]] = {
    "a function that is called a kernel": (
        kernel(
            "x[i] = write(2, x, 6);", 'extern "C" [[kernel]] long write(int, device void*, uint);'
        ),
        "invalid return type 'long' for kernel function",
    ),
    "a function that is called a kernel behind its name": (
        kernel(
            "x[i] = write(2, x, 6);", 'extern "C" long write [[kernel]] (int, device void*, uint);'
        ),
        _HOST,
    ),
    "a function behind a kernel": (
        kernel("x[i] = getpid();", 'extern "C" int a [[kernel]], getpid();'),
        _HOST,
    ),
    "a variable by a function's name": (
        kernel("x[i] = write[i];", "extern const constant char write[];"),
        "function of the host",
    ),
    "a function of the address sanitizer's": (
        kernel("__asan_memcpy(x, x, 4);"),
        "a name of the compiler's own",
    ),
    "whether there is a sanitizer": (
        kernel(
            "x[i] = f((thread float*)0);",
            "template <class T> auto f(T p) -> decltype(__ubsan_handle_add_overflow(p, 1, 1), 1);\n"
            "int f(...) { return 2; }",
        ),
        "a name of the compiler's own",
    ),
}

_WORDS = {
    "a swap of GNU's": "__sync_lock_test_and_set(x + i, 1);",
    "a sum of GNU's": "x[i] = __sync_fetch_and_add((device uint*)x, 1u);",
    "a fence of GNU's": "__sync_synchronize();",
    "a load": "uint v; __atomic_load((device uint*)x, &v, 0); x[i] = v;",
    "a fetch": "x[i] = __atomic_fetch_or((thread uint*)(x + 5000), 0u, 0);",
    "whether it is lock-free": "x[i] = __atomic_always_lock_free(4, 0);",
    "an initialisation of C11's": "__c11_atomic_init((_Atomic(int)*)x, 1);",
    "a store of C11's": "__c11_atomic_store((device int*)x, 1, 0);",
    "a type of C11's": "_Atomic int a = 1; x[i] = a;",
    "a load of a scope": "x[i] = __scoped_atomic_load_n((device int*)x, 0, 0);",
    "a load of OpenCL's": "x[i] = __opencl_atomic_load((device int*)x, 0, 0);",
    "an instruction of a GPU's": "x[i] = __nvvm_read_ptx_sreg_tid_x();",
    "the stack": "device float* p = (device float*)__builtin_alloca(64); x[i] = p[0];",
    "a trap": "__builtin_trap();",
    "a breakpoint": "__builtin_debugtrap();",
    "a system register": "x[i] = __builtin_readsteadycounter();",
    "registers": "x[i] = (ulong)__builtin_extract_return_addr(x);",
    "a jump": "void* b[5]; if (i > 5) __builtin_longjmp(b, 1); x[i] = 1;",
    "arguments": "__builtin_va_list l; x[i] = sizeof(l);",
    "an array of addresses": "x[i] = (ulong)__builtin_apply_args();",
    "a file": "x[i] = *__builtin_FILE();",
    "a word of CUDA's": "x[i] = __nvvm_bar_warp_sync(1), 1;",
    "an annotation": 'x[i] = __builtin_annotation(1, "a");',
    "a complex number": "_Complex float c = 1; x[i] = __real__ c;",
    "an integer of many bits": "_BitInt(99) b = 1; x[i] = b;",
    "a block": "x[i] = ((ulong)__builtin_thread_pointer());",
    "an address space": "float __attribute__((address_space(257)))* p = nullptr; (void)p;",
    "an address space of clang's spelling": "[[clang::address_space(256)]] float* p = 0;",
    "an address space of another spelling": "float __attribute((__address_space__(1)))* p = 0;",
    "a word that a macro pastes": "P(__sync_, synchronize)(); x[i] = 1;",
}
BUILTINS: dict[str, tuple[str, str]] = {
    name: (kernel(body, "#define P(a, b) a##b"), "a kernel may have what Metal has, and no more")
    for name, body in _WORDS.items()
}

_CALL = """float f(float a) {{ return metal::max(a, 0.0f); }}
float g(float a) {{ return metal::max(a, 0.0f) + 0; }}
float call(device const float* x, uint i) {{
  volatile ulong w = x[0] > 0 ? (ulong)f : (ulong)g;
  float (*p)(float) = (float (*)(float))w;
  return p(x[i]);
}}
"""
_POINTER = "a call through a pointer to a function"
_NAMED = "a #line directive names"
_HEADERS = str(find_toolchain().headers)


def _line(directive: str, before: str = "") -> str:
    return kernel("x[i] = call(x, i);", f"{before}{directive}\n{_CALL.format()}")


LINES: dict[str, tuple[str, str]] = {
    "a path like a header's": (_line('#line 1 "/q/msl/mb/vec.h"'), _POINTER),
    "a path like a header's, relative": (_line('#line 1 "msl/mb/vec.h"'), _POINTER),
    "a marker of a preprocessor": (_line('# 1 "/q/msl/mb/vec.h" 1 3'), _POINTER),
    "a header's own path": (_line(f'#line 1 "{_HEADERS}/mb/vec.h"'), _NAMED),
    "a header's own path of a system": (_line(f'#line 1 "{_HEADERS}/elf/object_file.h"'), _NAMED),
    "a path that leads to a header": (
        _line(f'#line 1 "{_HEADERS}/../msl/mb/vec.h"'),
        f"{_POINTER}|{_NAMED}",
    ),
    "a path with doubled slashes": (
        _line(f'#line 1 "/{_HEADERS}//mb/vec.h"'),
        f"{_POINTER}|{_NAMED}",
    ),
    "a file whose name begins as the headers' folder": (
        _line(f'#line 1 "{_HEADERS}/mbx.h"'),
        _NAMED,
    ),
    "the headers' folder": (_line(f'#line 1 "{_HEADERS}/mb"'), _NAMED),
    "the headers' folder and a slash": (_line(f'#line 1 "{_HEADERS}/mb/"'), _NAMED),
    "a folder that begins as the headers'": (_line(f'#line 1 "{_HEADERS}/elf_q/q.h"'), _NAMED),
    "a path by way of another folder": (_line(f'#line 1 "{_HEADERS}/q/../mb/vec.h"'), _NAMED),
    "a path with single dots": (_line(f'#line 1 "{_HEADERS}/./mb/vec.h"'), _NAMED),
    "a path with slashes within": (_line(f'#line 1 "{_HEADERS}//mb/vec.h"'), _NAMED),
    "a path in capital letters": (_line(f'#line 1 "{_HEADERS.upper()}/MB/vec.h"'), _NAMED),
    "a path from here": (
        _line(f'#line 1 "{os.path.relpath(_HEADERS)}/mb/vec.h"'),
        _NAMED,
    ),
    "a path with escapes": (
        _line(f'#line 1 "{_HEADERS}/\\155b/vec.h"'),
        _NAMED,
    ),
    "within a function, by a name that begins as the headers' folder": (
        kernel(
            f'#line 1 "{_HEADERS}/mbx.h"\ntypedef ulong (*p)(ulong); x[i] = ((p)(ulong)x[0])(7);'
        ),
        _NAMED,
    ),
    "a line break in a name": (_line('#line 1 "q\\n::error file=a::b"'), "control characters"),
    "a line break in octal": (_line('#line 1 "q\\012q.metal"'), "control characters"),
    "an escape sequence in a name": (_line('#line 1 "q\\033[31m"'), "control characters"),
    "a name from right to left": (_line('#line 1 "q\\u202e.metal"'), "control characters"),
    "a line break in front of an error": (
        _line('#line 1 "q\\nq:1:1: error: forged"\n#error stop'),
        "control characters",
    ),
    "a new file in the headers": (_line(f'#line 1 "{_HEADERS}/mb/new.h"'), _NAMED),
    "the empty headers": (_line(f'#line 1 "{_HEADERS}/empty/metal_stdlib"'), _POINTER),
    "the text around a source": (_line('#line 1 "<metalbench>"'), _NAMED),
    "the name in debug information": (_line('#line 1 "<metalbench>/mb/vec.h"'), _NAMED),
    "the name below a folder": (_line('#line 1 "/tmp/<metalbench>/mb/vec.h"'), _NAMED),
    "the name with escapes": (_line(r'#line 1 "\x3cmetalbench\76/mb/vec.h"'), _NAMED),
    "the name in two literals": (
        _line('#line 1 "<metal" "bench>/mb/vec.h"'),
        _POINTER,
    ),
    "the name from a macro": (_line("#line 1 N", '#define N "<metalbench>/mb/vec.h"\n'), _NAMED),
    "the name in a digraph's directive": (_line('%:line 1 "<metalbench>/mb/vec.h"'), _NAMED),
    "the name over two lines": (_line('#li\\\nne 1 "<metal\\\nbench>"'), _NAMED),
    "the name by a directive that a macro makes": (
        _line('H line 1 "<metalbench>"', "#define H #\n"),
        f"stray|{_NAMED}",
    ),
    "within a function": (
        kernel(
            '#line 1 "/q/msl/mb/vec.h"\nfloat (*p)(float) = x[i] > 0 ? f : g;\nx[i] = p(1);',
            "float f(float a) { return a; }\nfloat g(float a) { return 1; }",
        ),
        _POINTER,
    ),
    "the scratch space of macros": (_line('#line 1 "<scratch space>"'), _POINTER),
    "built-in": (_line('#line 1 "<built-in>"'), f"{_POINTER}|no kernel is named"),
    "where threads meet": (
        kernel(
            "threadgroup float s[32]; s[i % 32] = x[i];\n"
            "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);\n"
            "float (*p)(float) = s[0] > 0 ? f : g;\nx[i] = p(1);",
            '#line 1 "/q/msl/mb/vec.h"\nfloat f(float a) { return a; }\n'
            "float g(float a) { return 1; }",
        ),
        _POINTER,
    ),
}
# What is near to these, and Metal's.
TAKEN: dict[str, str] = {
    "a label": kernel(
        "threadgroup float s[32]; c(4, 4, s, x, 1); x[i] = 2;",
        f'{COPY} __asm("{COPY_LABEL}");',
    ),
    "names of one's own": kernel(
        "x[i] = __Add + _M16x16 - 1 + __metal_mine(1) - 1 + thumb_storage_size + numb_part_;",
        "enum __Op { __Add = 1, _M16x16 };\nfloat __metal_mine(float a) { return a; }\n"
        "constant float thumb_storage_size = 0;\nconstant float numb_part_ = 0;",
    ),
    "words of clang's": kernel(
        "x[i] = __is_same(float, half) ? 1 : 2;",
        "static_assert(__is_pod(float) && __METAL_VERSION__ >= 200 && __LINE__ > 0);\n"
        "inline __attribute__((__always_inline__)) __typeof__(1.0f) f() { return 1; }\n"
        "_Static_assert(__alignof__(float) == 4);\n#if __HAVE_BFLOAT__\n#endif",
    ),
    "a line of another file": kernel(
        "x[i] = f(2);", '#line 7 "/home/someone/msl/mb/notes.h"\nfloat f(float a) { return a; }'
    ),
    "a raw string": kernel("x[i] = s[0] == 'a' ? 2 : 0;", 'constant char s[] = R"(a"b)";'),
    "an annotation of a pragma in a macro": kernel(
        "float s = 0; LOOP for (int j = 0; j < 2; ++j) s += 1;\nx[i] = s;",
        '#define LOOP _Pragma("unroll(2)")',
    ),
    "a threadgroup's variables": kernel(
        f"{GROUP}x[i] = s[i % 32] + y + t();",
        "inline float t() { return 0; }",
    ),
    "variables of one name in several blocks": kernel(
        "{ threadgroup float t[8]; t[i % 8] = 1; x[i] = t[i % 8]; }\n"
        "{ threadgroup int t[8]; t[i % 8] = 1; x[i] += t[i % 8]; }",
    ),
}
