"""Vectorization of a whole module."""

from __future__ import annotations

import re

import llvmlite.binding
import numpy as np
import pytest
from vectorize.launches import FORMS, ROWS, Form, module

from metalbench.msl.ir.text import IrError
from metalbench.msl.vectorize.module import vectorize_module

OUT = np.zeros(32, "u4")
BODY = """
    %v = load i32, ptr %a.lane
    %c = icmp ult i32 %v, 8
    br i1 %c, label %then, label %end
  then:
    %m = call i32 @llvm.umax.i32(i32 %v, i32 3)
    store i32 %m, ptr %out.lane
    br label %end
  end:
    ret void"""
MORE = "declare i32 @llvm.umax.i32(i32, i32)"


def source(body: str = BODY, more: str = MORE) -> str:
    return module(body, more, {"a": OUT, "out": OUT})


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_vector_function_replaces_the_scalar_one(form):
    text = vectorize_module(source(), form.launch)
    assert "mb_vector_source" not in text
    assert re.search(r"^define void @mb_vector_body\(ptr %launch, ptr %group, ", text, re.MULTILINE)
    assert f"@mb_vector_rows = hidden constant i8 {int(form.rows)}" in text
    assert text.count("@mb_vector_rows =") == 1


def test_other_functions_are_unchanged():
    other = "define i32 @other(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}"
    assert other in vectorize_module(source(more=f"{MORE}\n{other}"), ROWS.launch)


def test_functions_are_declared_once():
    more = f"{MORE}\ndeclare <32 x i32> @llvm.umax.v32i32(<32 x i32>, <32 x i32>)"
    text = vectorize_module(source(more=more), ROWS.launch)
    assert text.count("declare <32 x i32> @llvm.umax.v32i32") == 1
    llvmlite.binding.parse_assembly(text).verify()


def test_the_same_module_gives_the_same_text():
    """In all processes: the build cache depends on it."""
    regions = "\n".join(
        f"""
      block{k}:
        %c{k} = icmp ugt i32 %v, {k}
        br i1 %c{k}, label %work{k}, label %block{k + 1}
      work{k}:
        %w{k} = mul i32 %v, {k + 3}
        store i32 %w{k}, ptr %out.lane
        br label %block{k + 1}"""
        for k in range(20)
    )
    body = f"""
        %v = load i32, ptr %a.lane
        %c = icmp ult i32 %v, 800
        br i1 %c, label %block0, label %end
      {regions}
      block20:
        br label %end
      end:
        ret void"""
    assert len({vectorize_module(source(body), ROWS.launch) for _ in range(5)}) == 1


def test_attributes_and_debug_scopes_stay():
    """The attributes of the function, and the scope of its lines."""
    text = source().replace("%group) {", "%group) local_unnamed_addr #3 !dbg !12 {")
    after = """
attributes #3 = { nounwind }
!12 = distinct !DISubprogram(name: "mb_vector_source", scope: !13, file: !13, line: 2, unit: !14)
!13 = !DIFile(filename: "k.metal", directory: "/")
!14 = distinct !DICompileUnit(language: DW_LANG_C, file: !13, emissionKind: LineTablesOnly)"""
    found = vectorize_module(text + after, ROWS.launch)
    (head,) = (line for line in found.split("\n") if line.startswith("define void @mb_vector_body"))
    assert head.endswith("#3 !dbg !12 {")
    assert "!dbg !DILocation(line: 0, scope: !12)" in found
    # The function of a scalar region has a separate subprogram.
    (region,) = (
        line
        for line in found.split("\n")
        if line.startswith("define internal void @mb_scalar_region")
    )
    assert region.endswith("#3 cold noinline !dbg !15 {")
    assert '!15 = distinct !DISubprogram(name: "mb_scalar_region.0", scope: !13, file: !13' in found


def test_a_module_without_a_kernel_is_refused():
    with pytest.raises(IrError, match="the module does not define mb_vector_source"):
        vectorize_module("define void @f() {\n  ret void\n}", ROWS.launch)


def test_a_simd_function_in_a_noinline_function_is_refused():
    more = """
declare i32 @mb_vector_sum_u32(i32)
define i32 @total(i32 %x) noinline {
  %y = call i32 @mb_vector_sum_u32(i32 %x)
  ret i32 %y
}"""
    with pytest.raises(IrError, match="total was not inlined, and calls mb_vector_sum"):
        vectorize_module(
            source("%t = call i32 @total(i32 1)\nstore i32 %t, ptr %out", more), ROWS.launch
        )


@pytest.mark.parametrize("ordering", ["monotonic", "acquire"])
def test_spin_loops_are_refused(ordering):
    body = f"""
        br label %loop
      loop:
        %seen = load atomic i32, ptr %a {ordering}, align 4
        %c = icmp ult i32 %seen, %lane
        br i1 %c, label %loop, label %end
      end:
        ret void"""
    with pytest.raises(IrError, match="may wait for each other in a loop"):
        vectorize_module(source(body), Form().launch)


def test_the_verifier_refuses_invalid_code():
    """The tests run LLVM's verifier: a definition must dominate its uses."""
    text = vectorize_module(source(), ROWS.launch)
    wrong = text.replace(
        "ret void", "%w = add i32 %later, 1\n  %later = add i32 1, 1\n  ret void", 1
    )
    with pytest.raises(RuntimeError, match="does not dominate"):
        llvmlite.binding.parse_assembly(wrong).verify()
