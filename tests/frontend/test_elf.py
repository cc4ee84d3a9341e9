"""Test read_contents and check_imports with shared objects from a linker."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from metalbench._core import CompileError
from metalbench.msl.toolchain import elf
from metalbench.msl.toolchain.clang import ELF
from metalbench.msl.toolchain.symbols import check_imports

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="makes ELF objects"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang"),
]
KERNEL = '__attribute__((visibility("default"))) void mb_span(float* x) { x[0] = 1; }\n'
CTOR = '__attribute__((section("{}"), used)) static void (*const p)(void) = f;'
# In place of a library in the kernel's folder.
OTHER = "other.so"
# Name: C code, further flags of the linker, and what the error says.
REFUSED: dict[str, tuple[str, list[str], str]] = {
    "_init": ("void _init(void) {}", [], "DT_INIT"),
    "_fini": ("void _fini(void) {}", [], "DT_FINI"),
    "an init function of the linker": (
        '__attribute__((visibility("hidden"))) void f(void) {}',
        ["-Wl,-init=f"],
        "DT_INIT",
    ),
    "a constructor": (
        '__attribute__((constructor)) static void f(void) { __asm__ volatile(""); }',
        [],
        "runs code when it is loaded",
    ),
    "a destructor": (
        '__attribute__((destructor)) static void f(void) { __asm__ volatile(""); }',
        [],
        "DT_FINI_ARRAY|calls .*atexit",
    ),
    "an array of constructors": (
        "static void f(void) {} " + CTOR.format(".init_array.00001"),
        [],
        "runs code when it is loaded",
    ),
    "an array of destructors": (
        "static void f(void) {} " + CTOR.format(".fini_array"),
        [],
        "DT_FINI_ARRAY",
    ),
    "an indirect function": (
        'static void* r(void) { return 0; } void g(void) __attribute__((ifunc("r")));'
        '__attribute__((visibility("default"))) void mb_info(void) { g(); }',
        [],
        "a relocation of type 37|of type 10",
    ),
    "an indirect function by assembly": (
        'static void r(void) {} __asm__(".globl mb_info\\n.type mb_info,@gnu_indirect_function\\n'
        'mb_info: ret\\n"); __attribute__((used)) static void (*q)(void) = r;',
        [],
        "of type 10",
    ),
    "a thread-local variable": (
        'static __thread int t; __attribute__((visibility("default"))) int mb_info(void) '
        "{ return t++; }",
        [],
        "thread-local variables",
    ),
    "a variable": (
        'static int t; __attribute__((visibility("default"))) int mb_info(void) { return t++; }',
        [],
        "variables that outlive a launch: t",
    ),
    "another library": ("", ["-Wl,--no-as-needed", OTHER], "DT_NEEDED"),
    "a path of libraries": ("", ["-Wl,-rpath,/tmp"], "DT_R(UN)?PATH"),
    "an auditor": ("", ["-Wl,--audit=/tmp/a.so"], "DT_AUDIT|DT_0x|unsupported linker"),
    "a filter": ("", ["-Wl,--filter=a.so"], "DT_FILTER|unsupported linker"),
    "an executable stack": ("", ["-Wl,-z,execstack"], "an executable stack"),
    "relocations of code": (
        '__asm__(".text\\n.quad mb_span\\n");',
        ["-Wl,-z,notext"],
        "DT_TEXTREL|relocations of code",
    ),
    "code that is written": (
        '__asm__(".section .wx,\\"awxR\\",@progbits\\n.quad 1\\n");',
        [],
        "written and executed",
    ),
    "a name for others": (
        '__attribute__((visibility("default"))) void* malloc(void) { return 0; }',
        [],
        "defines malloc for the host",
    ),
    "a name that is only near": (
        '__attribute__((visibility("default"))) void mb_spans(void) {}',
        [],
        "defines mb_spans for the host",
    ),
    "a unique symbol": (
        '__asm__(".data\\n.globl mb_info\\n.type mb_info,@gnu_unique_object\\n'
        'mb_info: .quad 1\\n");',
        [],
        "binding 10",
    ),
    "a function of the host": (
        'int getpid(void); __attribute__((visibility("default"))) int mb_info(void) '
        "{ return getpid(); }",
        [],
        "calls getpid of the host",
    ),
}


def build_kernel(code: str, options: list[str], folder: Path) -> Path:
    """A shared object of C code, as a kernel is linked; skip where the linker has no such thing."""
    library = folder / "kernel.so"
    source = folder / "kernel.c"
    source.write_text(KERNEL + code)
    compiler = [sys.executable, "-m", "ziglang", "cc"]
    if shutil.which("cc") is not None and any("execstack" in each for each in options):
        compiler = ["cc"]
    flags = ["-shared", "-fPIC", "-O1", "-nostdlib", "-fvisibility=hidden", "-fno-sanitize=all"]
    if OTHER in options:
        shutil.copy(build_kernel("", [], folder), folder / OTHER)
        source.write_text(KERNEL + code)
    answer = subprocess.run(
        [*compiler, *flags, "-o", str(library), str(source), *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if answer.returncode != 0:
        pytest.skip(answer.stderr.strip().partition("\n")[0])
    return library


def test_check_imports_accepts_kernels(tmp_path: Path) -> None:
    library = build_kernel("", [], tmp_path)
    found = elf.read_contents(library)
    assert found.exports == {"mb_span"}
    assert found.unexpected == found.initialisers == ()
    assert found.imports == found.variables == frozenset()
    check_imports(library, ELF, checked=False)


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("name", REFUSED)
def test_check_imports_refuses_entries_of_the_loader(
    name: str, checked: bool, tmp_path: Path
) -> None:
    code, options, said = REFUSED[name]
    library = build_kernel(code, options, tmp_path)
    with pytest.raises(CompileError, match=said):
        check_imports(library, ELF, checked=checked)


def test_read_contents_agrees_with_pyelftools(tmp_path: Path) -> None:
    code, options, _ = REFUSED["a function of the host"]
    code += (
        "static int counter; int table[4] = {1}; extern int environment;"
        '__attribute__((visibility("default"))) int* mb_thread(int i) '
        "{ return i ? &counter + environment : table; }"
    )
    library = build_kernel(code, options, tmp_path)
    found = elf.read_contents(library)
    with library.open("rb") as stream:
        sections = list(ELFFile(stream).iter_sections())
        dynamic = [
            (each.name, each["st_shndx"] == "SHN_UNDEF")
            for section in sections
            if section["sh_type"] == "SHT_DYNSYM"
            for each in section.iter_symbols()
            if each.name
        ]
        writable = {
            each.name
            for section in sections
            if section["sh_type"] in ("SHT_SYMTAB", "SHT_DYNSYM")
            for each in section.iter_symbols()
            if each["st_info"]["type"] == "STT_OBJECT"
            and isinstance(each["st_shndx"], int)
            and sections[each["st_shndx"]]["sh_flags"] & 1
        }
    assert found.imports == {name for name, undefined in dynamic if undefined}
    assert found.exports == {name for name, undefined in dynamic if not undefined}
    assert found.variables == writable
    assert found.imports >= {"getpid", "environment"}
    assert found.exports == {"mb_span", "mb_info", "mb_thread"}
    assert found.variables >= {"table"}


def test_check_imports_refuses_tables_that_no_section_lists(tmp_path: Path) -> None:
    code, options, _ = REFUSED["a function of the host"]
    library = build_kernel(code, options, tmp_path)
    data = bytearray(library.read_bytes())
    # e_shoff, e_shnum and e_shstrndx: the loader does not read sections.
    data[0x28:0x30] = bytes(8)
    data[0x3C:0x40] = bytes(4)
    library.write_bytes(data)
    with pytest.raises(CompileError, match="a DT_SYMTAB outside of the sections"):
        check_imports(library, ELF, checked=False)


@pytest.mark.parametrize("size", [0, 3, 64, 200, 1000])
def test_check_imports_refuses_a_truncated_object(size: int, tmp_path: Path) -> None:
    library = build_kernel("", [], tmp_path)
    library.write_bytes(library.read_bytes()[:size])
    with pytest.raises(CompileError, match="a malformed object file"):
        check_imports(library, ELF, checked=False)
