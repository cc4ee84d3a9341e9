"""Test that every call of the instrumentation has a debug location; without one, lines are lost."""

from __future__ import annotations

import re

import pytest

from metalbench import _core
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain import compile
from metalbench.msl.toolchain.clang import TOOLS
from metalbench.msl.transforms.debug_locations import locate_calls
from metalbench.msl.transforms.if_conversion import convert_branches_to_selects
from metalbench.msl.transforms.memory_sanitizer import (
    instrument_results,
    mark_allocas_uninitialized,
    prepare_for_address_sanitizer,
)

SOURCE = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
struct Both { float low[4]; int high[2]; };
static float second(thread float* p, uint i) { return p[i]; }
kernel void k(device const float* x, device int* y, device Both* both,
              texture2d<float, access::read_write> image, uint t [[thread_index_in_threadgroup]],
              constant uint& n) {
  threadgroup float a[32];
  threadgroup atomic_int total;
  Both own;
  own.low[t % 4] = x[t];
  int unset;
  if (x[t] > 0) unset = 5;
  float s = simd_sum(x[t]) + second(own.low, t % 4);
  if ((t & 31) == 0) a[t >> 5] = s;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 32) {
    s = a[t];
    for (uint k = 16; k > 0; k >>= 1) {
      if (s < 3) continue;
      s += simd_shuffle_xor(s, k);
      for (uint j = 0; j < n; ++j) s = max(s, simd_shuffle_down(s, 1));
    }
  }
  simdgroup_float8x8 m;
  simdgroup_load(m, x, 8);
  simdgroup_store(m, a, 8);
  both[t] = own;
  both[t].high[t % 2] = unset + 1;
  atomic_fetch_add_explicit(&total, int(s) / int(n), memory_order_relaxed);
  image.write(image.read(uint2(t, 0)), uint2(t, 1));
  image.fence();
  y[t] = (unset << n) * -unset + int(s);
}
"""
_HEAD = re.compile(r"define .* !dbg !\d+ ")
_CALL = re.compile(
    r"  (?:%\S+ = )?(?:tail |notail |musttail )?call ([^\n]*?)@([\w.$]+|\"[^\"]*\")\("
)
_PLACE = re.compile(r", !dbg (!\d+)")
_LOCATION = re.compile(r"^(!\d+) = (?:distinct )?!DILocation\((.*)\)", re.MULTILINE)
# Calls that report, or that can be on the call stack of a report.
_REPORTS = re.compile(
    r"__ubsan_|__msan_(?:warning|metadata_ptr_for_store|mem)|__sanitizer_cov_(?:load|store)\d|__asan_mem"
    r"|mb_(?:moved|within|hand|nothing_|out_of_bounds|check_alignment)|_ZN2mbL(?:4meet|8in_turns)"
)


_PARAMETER = re.compile(r"%[\w.]*\.addr|%mb\.unnamed\.\d+")


@pytest.fixture
def modules(monkeypatch):
    """Return the modules that clang's back end compiles during a test."""
    found: list[str] = []
    assemble = compile.assemble

    def noting(ir, *arguments, **options):
        found.append(ir)
        return assemble(ir, *arguments, **options)

    monkeypatch.setattr(compile, "assemble", noting)
    return found


@pytest.mark.parametrize("tools", [TOOLS, (), ("init",), ("mem", "arithmetic")])
def test_every_call_of_a_checked_build_has_a_debug_location(modules, monkeypatch, tmp_path, tools):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    library = _core.open("cpu").compile(SOURCE, checked=True, tools=list(tools))
    library.pipeline("k")
    (ir,) = modules
    lines = dict(_LOCATION.findall(ir))
    is_described, checked = False, set()
    for line in ir.split("\n"):
        if line.startswith("define "):
            is_described = _HEAD.match(line) is not None
        call = _CALL.match(line)
        if call is None or not is_described or call[2].startswith("llvm.") or "asm" in call[1]:
            continue
        place = _PLACE.search(line)
        assert place is not None, line
        # A parameter has its own memory, named or not: nothing is reported of it.
        if _REPORTS.search(call[2]) and not _PARAMETER.search(line):
            # Inlined code without a line is reported at the line of the call.
            location = lines[place[1]]
            assert "line: 0," not in location or "inlinedAt: " in location, line
            checked.add(call[2])
    assert any("in_turns" in each for each in checked)
    assert any("__sanitizer_cov_load" in each for each in checked)
    assert ("__msan_warning" in checked) == ("init" in tools)


def test_locate_calls_takes_the_nearest_location_in_the_block():
    ir = """\
define void @f() !dbg !1 {
entry:
  call void @first()
  %a = add i32 1, 2, !dbg !2
  call void @second()
  br label %next
next:
  call void @third()
  ret void
}
!1 = distinct !DISubprogram(name: "f")
!2 = !DILocation(line: 3, scope: !1)
"""
    module = Module(ir)
    locate_calls(module)
    lines = str(module).splitlines()
    assert lines[2] == "  call void @first(), !dbg !2"
    assert lines[4] == "  call void @second(), !dbg !2"
    assert lines[7] == "  call void @third(), !dbg !3"
    assert lines[-1] == "!3 = !DILocation(line: 0, scope: !1)"


def test_instrument_results_makes_checked_arithmetic_plain():
    ir = """\
define void @f() {
  %0 = call { i32, i1 } @llvm.ssub.with.overflow.i32(i32 %a, i32 1), !dbg !2, !nosanitize !3
  %1 = extractvalue { i32, i1 } %0, 0, !dbg !2, !nosanitize !3
  %2 = extractvalue { i32, i1 } %0, 1, !dbg !2, !nosanitize !3
  ret void
}"""
    module = Module(ir)
    instrument_results(module)
    lines = str(module).split("\n")
    assert lines[2] == "  %1 = sub i32 %a, 1, !dbg !2"
    assert lines[1].endswith("!nosanitize !3")
    assert lines[3].endswith("!nosanitize !3")


def convert_branches(text: str) -> str:
    module = Module(text)
    convert_branches_to_selects(module)
    return str(module)


CHOICE = """\
define void @f() #1 {
entry:
  %v = alloca float, align 4
  br i1 %c, label %cond.true, label %cond.false, !dbg !2

cond.true:
  %1 = load float, ptr %o, align 4
  br label %cond.end

cond.false:
  %2 = load float, ptr %v, align 4
  br label %cond.end

cond.end:
  %cond = phi float [ %1, %cond.true ], [ %2, %cond.false ]
  store float %cond, ptr %v, align 4
  ret void
}
attributes #1 = { nounwind sanitize_memory uwtable }"""


def test_convert_branches_makes_a_select_of_a_choice_between_variables():
    text = convert_branches(CHOICE.replace("ptr %o", "ptr %v"))
    assert "select i1 %c, float %1, float %2" in text
    assert "br i1" not in text


def test_convert_branches_keeps_other_loads_and_unchecked_functions():
    assert convert_branches(CHOICE) == CHOICE
    plain = CHOICE.replace("ptr %o", "ptr %v").replace("sanitize_memory ", "")
    assert convert_branches(plain) == plain


def test_convert_branches_raises_for_blocks_without_names():
    with pytest.raises(IrError, match="blocks of f have numbers"):
        convert_branches(CHOICE.replace("entry:\n", ""))


VARIABLE = """\
%struct.P = type { float, [2 x i32] }
define void @f() !dbg !5 {
entry:
  %own = alloca %struct.P, align 4
  call void @llvm.lifetime.start.p0(ptr %own), !dbg !7
  ret void, !dbg !7
}
HELPERS
!3 = !DIFile(filename: "user.metal", directory: "/")
!5 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 1)
!7 = !DILocation(line: 2, scope: !5)
"""


def test_mark_allocas_uninitialized_stores_a_value_of_each_scalar():
    helpers = "declare float @mb_nothing_float(ptr)\ndeclare i32 @mb_nothing_i32(ptr)"
    module = Module(VARIABLE.replace("HELPERS", helpers))
    mark_allocas_uninitialized(module)
    lines = [line.strip() for line in str(module).splitlines()]
    at = lines.index("call void @llvm.lifetime.start.p0(ptr %own), !dbg !7") + 1
    assert lines[at : at + 3] == [
        "%mb.value.own.0 = call float @mb_nothing_float(ptr @mb.birth.0), !dbg !7",
        "%mb.at.own.0 = getelementptr %struct.P, ptr %own, i32 0, i32 0, !dbg !7",
        "store float %mb.value.own.0, ptr %mb.at.own.0, align 1, !dbg !7",
    ]
    assert "ptr %own, i32 0, i32 1, i32 1, !dbg !7" in str(module)


def test_mark_allocas_uninitialized_without_its_helper_is_an_error():
    with pytest.raises(IrError, match="the module has no mb_nothing_float"):
        mark_allocas_uninitialized(Module(VARIABLE.replace("HELPERS", "")))


def test_module_constructors_become_empty():
    module = Module(
        "define internal void @sancov.module_ctor_trace_pc_guard() #0 {\n"
        "  call void @__sanitizer_cov_trace_pc_guard_init(ptr @a, ptr @b)\n  ret void\n}\n"
        "attributes #0 = { nounwind sanitize_memory }\n"
    )
    prepare_for_address_sanitizer(module)
    assert str(module) == (
        "define internal void @sancov.module_ctor_trace_pc_guard() #0 {\n  ret void\n}\n"
        "attributes #0 = { nounwind sanitize_address }\n"
    )
