"""Test check_imports: symbols that a compiled object imports from the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from metalbench._core import CompileError
from metalbench.msl.toolchain.clang import MACH_O, Toolchain, find_toolchain, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, assemble

# With assembly, so that the optimiser does not see that it does nothing.
HARMLESS = 'define void @mb_span() {\n  call void asm sideeffect "", ""()\n  ret void\n}\n'
FAULTS = {
    "a call": (
        "declare i32 @getpid()\ndefine hidden i32 @f() {\n  %r = call i32 @getpid()\n"
        "  ret i32 %r\n}\n",
        "calls getpid of the host",
    ),
    "a variable": ("@counter = hidden global i32 3\n", "variables that outlive a launch: counter"),
    "a cleared array": (
        "@big = hidden global [1024 x i8] zeroinitializer\n",
        "variables that outlive a launch: big",
    ),
    "a name for others": (
        "define i32 @malloc() {\n  ret i32 1\n}\n",
        "defines malloc for the host",
    ),
    "a variable for others": ("@environ = constant i32 3\n", "defines environ for the host"),
    "a thread-local variable": (
        "@kept = hidden thread_local global i32 3\n",
        "thread-local variables|section __thread_\\w+ of type|tlv_bootstrap",
    ),
    "a constructor": (
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
        "[{ i32, ptr, ptr } { i32 65535, ptr @mb_span, ptr null }]\n",
        "runs code when it is loaded",
    ),
    "a destructor": (
        "@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] "
        "[{ i32, ptr, ptr } { i32 65535, ptr @mb_span, ptr null }]\n",
        "(runs code when it is loaded|DT_FINI_ARRAY|calls .*atexit of the host)",
    ),
}


@pytest.fixture(params=["here", "macOS"])
def tools(request: pytest.FixtureRequest) -> Toolchain:
    here = find_toolchain()
    if request.param == "here":
        return here
    if not here.clang[0].endswith("zig"):
        pytest.skip("needs ziglang's linker, which knows every system")
    return replace(here, linker=(here.clang[0], *MACH_O.zig_linker), target=MACH_O)


def built(ir: str, tools: Toolchain, folder: Path) -> None:
    options = list_flags(checked=False, fast_math=True, goal=tools.target)
    assemble(
        HARMLESS + ir, folder / "kernel.so", tools, MessageTranslator(str, lambda _: ""), options
    )


def test_check_imports_accepts_objects_without_imports(tools: Toolchain, tmp_path: Path) -> None:
    built("@table = hidden constant [2 x i32] [i32 1, i32 2]\n", tools, tmp_path)
    assert (tmp_path / "kernel.so").exists()


@pytest.mark.parametrize("name", FAULTS)
def test_check_imports_refuses_imports_of_the_host(
    name: str, tools: Toolchain, tmp_path: Path
) -> None:
    ir, said = FAULTS[name]
    with pytest.raises(CompileError, match=said):
        built(ir, tools, tmp_path)
