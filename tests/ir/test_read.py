"""Functions and their instructions, read from clang's text."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.model import Value
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.read import read_function
from metalbench.msl.ir.read_instruction import read_instruction
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, POINTER, Float, Int, Named, Struct, Vector

I32, F32 = Int(32), Float("float")


def test_arithmetic():
    add = read_instruction("  %3 = add nuw nsw i32 %1, -2, !dbg !12")
    assert (add.opcode, add.result, add.type, add.flags) == ("add", "%3", I32, ("nuw", "nsw"))
    assert add.operands == (Value(I32, "%1"), Value(I32, "-2"))
    assert add.operands[1].integer == -2
    assert add.place == "!12"
    fast = read_instruction("%x = fmul reassoc nsz arcp contract afn float %a, 0x3FB99999A0000000")
    assert fast.flags == ("reassoc", "nsz", "arcp", "contract", "afn")
    assert fast.operands[1] == Value(F32, "0x3FB99999A0000000")
    assert read_instruction("%n = fneg float %a").operands == (Value(F32, "%a"),)


def test_casts_comparisons_and_choices():
    wide = read_instruction("%w = zext nneg i32 %i to i64")
    assert (wide.type, wide.operands, wide.flags) == (Int(64), (Value(I32, "%i"),), ("nneg",))
    less = read_instruction("%c = icmp samesign ult <2 x i32> %a, splat (i32 3)")
    assert less.predicate == "ult"
    assert less.type == Vector(2, BOOL)
    assert less.operands[1].text == "splat (i32 3)"
    chosen = read_instruction("%s = select nsz i1 %c, float %a, float 0.000000e+00")
    assert chosen.type == F32
    assert [str(each) for each in chosen.operands] == ["i1 %c", "float %a", "float 0.000000e+00"]


def test_memory():
    load = read_instruction("%v = load volatile <4 x float>, ptr %p, align 16, !tbaa !5, !dbg !7")
    assert (load.accessed, load.address, load.alignment) == (
        Vector(4, F32),
        Value(POINTER, "%p"),
        16,
    )
    assert load.volatile
    assert load.place == "!7"
    store = read_instruction('store atomic i32 %v, ptr %p syncscope("agent") release, align 4')
    assert (store.accessed, store.address.text, store.ordering) == (I32, "%p", "release")
    here = read_instruction(
        "%q = getelementptr inbounds nuw [4 x %struct.S], ptr %p, i64 0, i64 %i, i32 1"
    )
    assert here.element.element == Named("%struct.S")
    assert [str(each.type) for each in here.operands] == ["ptr", "i64", "i64", "i32"]
    own = read_instruction("%a = alloca [8 x i8], align 16")
    assert (own.allocated.count, own.alignment, own.count) == (8, 16, None)
    assert read_instruction("%a = alloca float, i64 %n, align 4").count == Value(Int(64), "%n")


def test_control_flow():
    phi = read_instruction("%p = phi i32 [ 0, %2 ], [ %n, %loop.1 ]")
    assert phi.sources == ("%2", "%loop.1")
    assert [each.text for each in phi.operands] == ["0", "%n"]
    branch = read_instruction("br i1 %c, label %a, label %b, !dbg !3, !llvm.loop !9")
    assert (branch.targets, branch.loop) == (("%a", "%b"), "!9")
    table = read_instruction("switch i32 %x, label %d [ i32 -1, label %a i32 7, label %b ]")
    assert (table.targets, table.cases) == (("%d", "%a", "%b"), (-1, 7))
    assert read_instruction("ret void").operands == ()
    assert read_instruction("ret float %x").operands == (Value(F32, "%x"),)


def test_calls():
    call = read_instruction(
        "%r = tail call reassoc nsz float @llvm.fma.f32(float noundef %a, float 2.000000e+00, "
        "float nofpclass(nan inf) %c) #3, !dbg !8"
    )
    assert (call.name, call.type, call.attributes) == ("llvm.fma.f32", F32, "#3")
    assert [each.text for each in call.operands] == ["%a", "2.000000e+00", "%c"]
    assert call.parameters == ("noundef", "", "nofpclass(nan inf)")
    result = read_instruction("%r = call fastcc noundef i32 @f(ptr dereferenceable(4) align 4 %p)")
    assert (result.before, result.operands) == ("fastcc noundef", (Value(POINTER, "%p"),))
    assembly = read_instruction('call void asm sideeffect "", "~{memory}"()')
    assert assembly.name == ""


def test_vectors_and_structs():
    shuffle = read_instruction(
        "%s = shufflevector <2 x i8> %a, <2 x i8> poison, "
        "<4 x i32> <i32 0, i32 poison, i32 1, i32 3>"
    )
    assert shuffle.mask == (0, -1, 1, 3)
    assert shuffle.type == Vector(4, Int(8))
    splat = "%s = shufflevector <2 x i8> %a, <2 x i8> poison, <4 x i32> "
    assert read_instruction(splat + "zeroinitializer").mask == (0, 0, 0, 0)
    assert read_instruction(splat + "splat (i32 1)").mask == (1, 1, 1, 1)
    part = read_instruction("%e = insertvalue { float, i1 } poison, i1 %c, 1")
    assert (part.indices, part.type) == ((1,), Struct((F32, BOOL)))


def test_atomics():
    update = read_instruction(
        '%o = atomicrmw volatile add ptr %p, i32 %v syncscope("agent") monotonic, align 4'
    )
    assert (update.operation, update.orderings, update.scope) == ("add", ("monotonic",), "agent")
    assert (update.type, update.alignment, update.volatile) == (I32, 4, True)
    exchange = read_instruction("%o = cmpxchg weak ptr %p, i32 %a, i32 %b acq_rel monotonic")
    assert (exchange.orderings, exchange.weak) == (("acq_rel", "monotonic"), True)
    assert exchange.type == Struct((I32, BOOL))
    assert read_instruction("fence seq_cst").orderings == ("seq_cst",)


@pytest.mark.parametrize("line", ["%x = frob i32 %y", "%x = phi i32 [ 0 ]", "%x = load i32"])
def test_read_raises_for_an_unknown_instruction_with_its_line(line):
    with pytest.raises(IrError, match="in '" + line.split(" =", maxsplit=1)[0]):
        read_instruction(line)


MODULE = """
%struct.S = type { i32, [2 x float] }
declare void @other(ptr)
define void @f(ptr noundef %0, i32 %n) local_unnamed_addr #0 !dbg !4 {
  %2 = icmp eq i32 %n, 0
    #dbg_value(i32 %n, !1, !DIExpression(), !2)
  switch i32 %n, label %5 [
    i32 0, label %3
    i32 1, label %3
  ], !dbg !3

3:                                                ; preds = %1, %1
  %4 = extractvalue %struct.S zeroinitializer, 1, 0
  br label %5

5:
  ret void
}
attributes #0 = { nounwind }
"""


def test_read_function_reads_blocks_and_types():
    function = read_function(Module(MODULE).function("f"))
    assert list(function.blocks) == ["%1", "%3", "%5"]
    assert [str(each) for each in function.parameters] == ["ptr %0", "i32 %n"]
    assert function.blocks["%3"].instructions[0].type == F32
    assert function.blocks["%1"].successors == [function.blocks["%5"], function.blocks["%3"]]
    assert function.blocks["%5"].predecessors == [function.blocks["%1"], function.blocks["%3"]]
    assert function.layout.size(Named("%struct.S")) == 12
    assert set(function.definitions()) == {"%2", "%4"}
