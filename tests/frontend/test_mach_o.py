"""Test kernels for macOS, cross-compiled: debug information leads to the user's lines."""

from dataclasses import replace

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.toolchain import mach_o
from metalbench.msl.toolchain.clang import MACH_O, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, compile_shared_object
from metalbench.msl.toolchain.symbolize import symbolize
from metalbench.msl.toolchain.symbols import explain_undefined

TEXT = """#include <metal_stdlib>
using namespace metal;

kernel void f(device float* a, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[32];
  shared[t] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  a[i] =
      a[i + 1] +
      shared[31 - t];
}
"""


@pytest.fixture
def tools():
    here = engine.find_toolchain()
    if not here.clang[0].endswith("zig"):
        pytest.skip("needs ziglang's linker, which knows every system")
    return replace(here, linker=(here.clang[0], *MACH_O.zig_linker), target=MACH_O)


@pytest.mark.parametrize("checked", [False, True])
def test_addresses_in_a_library_have_lines_of_the_user(tools, tmp_path, checked):
    lowered = lower(engine.parse(TEXT, "dir/my.metal").source, "f", {})
    library = tmp_path / "kernel.so"
    options = list_flags(checked=checked, fast_math=True, spaces=lowered.spaces, goal=tools.target)
    compile_shared_object(
        lowered.code, library, tools, MessageTranslator(), options, checked=checked
    )
    with library.open("rb") as stream:
        file = mach_o.MachO(stream)
    assert {"_mb_info", "_mb_thread"} <= set(file.functions)
    code = next(section for section in file.sections if section.name == "__text")
    places = {symbolize(str(library), code.address + i) for i in range(0, code.size, 4)}
    lines = {place[1] for place in places if place and place[0] == "dir/my.metal"}
    assert {7, 9, 10} <= lines
    assert lines <= set(range(4, 13))


def test_a_library_without_its_object_has_no_lines(tools, tmp_path):
    lowered = lower(engine.parse(TEXT).source, "f", {})
    library = tmp_path / "kernel.so"
    options = list_flags(checked=False, fast_math=True, goal=tools.target)
    compile_shared_object(lowered.code, library, tools, MessageTranslator(), options, checked=False)
    library.with_suffix(".o").unlink()
    assert symbolize(str(library), 0x4000) is None


@pytest.mark.parametrize("call", ["helper(*a)", "by(a) + by(t)"])
def test_undefined_names_and_address_spaces(tools, tmp_path, call):
    text = f"""float helper(float x); int by(device float* x) {{ return 1; }}
    int by(threadgroup float* x) {{ return 2; }}
    kernel void f(device float* a) {{ threadgroup float t[2]; *a = {call}; }}"""
    source = engine.parse(text, "my.metal").source
    lowered = lower(source, "f", {})
    options = list_flags(checked=False, fast_math=True, spaces=lowered.spaces, goal=tools.target)
    translate = MessageTranslator(str, lambda said: explain_undefined(said, source))
    library = tmp_path / "kernel.so"
    if lowered.spaces:
        compile_shared_object(lowered.code, library, tools, translate, options, checked=False)
        return
    with pytest.raises(CompileError, match=r"my\.metal:1:7: error: __Z6helperf is called"):
        compile_shared_object(lowered.code, library, tools, translate, options, checked=False)


def test_functions_declared_by_label_are_found(tools, tmp_path):
    text = """
    thread void* copy(ulong, ulong, threadgroup void*, const device void*, ulong)
        __asm("air.simdgroup_async_copy_1d.p3i8.p1i8");
    kernel void f(device float* a) {
      threadgroup float t[32];
      copy(4, 4, t, a, 32);
    }"""
    lowered = lower(engine.parse(text).source, "f", {})
    options = list_flags(checked=False, fast_math=True, goal=tools.target)
    library = tmp_path / "kernel.so"
    compile_shared_object(lowered.code, library, tools, MessageTranslator(), options, checked=False)
    assert library.exists()
