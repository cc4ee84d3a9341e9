"""Whole modules: read, changed and printed."""

from __future__ import annotations

import pytest

from metalbench.msl.ir.model import (
    CallInstruction,
    DebugRecord,
    Instruction,
    Memory,
    Value,
    lazy_instruction,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, POINTER, ArrayType, Float, Int, Pointer, Struct, Vector

TEXT = """\
; ModuleID = 'a'
target triple = "x86_64"

%struct.S = type { i32, float }

@a = internal addrspace(3) global [4 x i8] c"a, \\22\\00", section "mine", align 16
@b = private constant { ptr, i32 } { ptr @a, i32 1 }
@c = alias void (), ptr @f

; Function Attrs: nounwind
define void @f(ptr noundef %p, i32 %0) #2 !dbg !5 {
  #dbg_value(ptr %p, !9, !DIExpression(), !7)
  %2 = load i32, ptr %p, align 4, !dbg !7, !nonnull !8
  switch i32 %2, label %one [
    i32 0, label %two
    i32 1, label %one
  ]

one:                                              ; preds = %1, %1
  %x = add nsw i32 %2, %0, !dbg !7
  call void asm sideeffect "mov %x, %2", "r"(i32 %x) #3, !dbg !7
  br label %two

two:                                              ; preds = %1, %one
  %y = phi i32 [ %x, %one ], [ 0, %1 ]
  store i32 %y, ptr %p, align 4
  ret void, !dbg !7
}

declare void @g(ptr) #2

define internal i32 @h() {
entry:
  %r = extractvalue %struct.S poison, 1
  ret i32 0
}

attributes #2 = { nounwind "a"="b" }

!5 = distinct !DISubprogram(name: "f", scope: !6, file: !6, line: 3)
!6 = !DIFile(filename: "user.metal", directory: "/")
!7 = !DILocation(line: 4, column: 2, scope: !5)
!8 = !{}
"""


def test_a_module_is_printed_as_it_was_read():
    module = Module(TEXT)
    assert str(module) == TEXT
    for function in module.functions.values():
        assert function.blocks
        for _, each in function.instructions:
            if not isinstance(each, DebugRecord):
                assert each.operands is not None
    assert str(module) == TEXT


def test_a_module_lists_its_parts():
    module = Module(TEXT)
    assert list(module.functions) == ["f", "h"]
    assert module.declarations == {"@g": "declare void @g(ptr) #2"}
    assert module.attribute_groups == {"#2": 'nounwind "a"="b"'}
    assert [each.name for each in module.users_functions()] == ["f"]
    assert module.declares("g")
    assert module.declares("f")
    assert not module.declares("c")
    with pytest.raises(IrError, match="does not define g"):
        module.function("g")


def test_globals():
    a, b, c = Module(TEXT).globals.values()
    assert (a.words, a.kind, a.alignment, a.section) == (
        ["internal", "addrspace(3)"],
        "global",
        16,
        "mine",
    )
    assert a.type == ArrayType(4, Int(8))
    assert a.initializer == 'c"a, \\22\\00"'
    assert (b.kind, b.globals, b.alignment, b.section) == ("constant", ["@a"], 0, "")
    assert c.kind == "alias"


def test_functions():
    function = Module(TEXT).function("f")
    assert function.subprogram == "!5"
    assert function.attribute_groups == ["#2"]
    assert [each.text for each in function.parameters] == ["%p", "%0"]
    assert list(function.blocks) == ["%1", "%one", "%two"]
    assert [each.name for each in function.blocks["%two"].predecessors] == ["%1", "%one"]
    assert [each.name for each in function.entry.successors] == ["%one", "%two"]


def test_instructions_are_read_on_demand():
    load = lazy_instruction("  %2 = load i32, ptr %p, align 4, !dbg !7, !nonnull !8")
    assert type(load) is Memory
    assert (load.opcode, load.result) == ("load", "%2")
    assert (load.place, load.attachment("nonnull"), load.attachment("tbaa")) == ("!7", "!8", "")
    assert load.alignment == 4
    assert load.address.text == "%p"
    with pytest.raises(AttributeError):
        load.predicate  # noqa: B018
    with pytest.raises(IrError, match="not known here"):
        lazy_instruction("  %a = nothing i32 %b").operands  # noqa: B018


def test_the_type_of_a_member_is_known():
    _, (part, _) = "", Module(TEXT).function("h").entry.instructions
    assert part.type == Float("float")


def test_users_of_values():
    function = Module(TEXT).function("f")
    assert [each.opcode for each in function.users_of("%2")] == ["switch", "add"]
    # Not a debug record, and not the text of an assembly.
    assert [each.opcode for each in function.users_of("%p")] == ["load", "store"]
    assert [each.opcode for each in function.users_of("%x")] == ["call", "phi"]
    assert [each.opcode for each in function.users_of("%one")] == ["switch", "phi"]
    assert function.users_of("%missing") == ()


def test_all_uses_are_replaced():
    module = Module(TEXT)
    module.function("f").replace_all_uses("%x", "%new")
    assert str(module) == TEXT.replace("(i32 %x)", "(i32 %new)").replace("[ %x,", "[ %new,")
    assert [each.opcode for each in module.function("f").users_of("%new")] == ["call", "phi"]
    module.function("f").replace_all_uses("%p", "%q")
    assert "#dbg_value(ptr %q, " in str(module)


def test_instructions_change_by_their_methods():
    load = lazy_instruction("  %2 = load i32, ptr %p, align 4, !dbg !7, !nonnull !8")
    assert load.alignment == 4
    load.set_alignment(1)
    assert load.alignment == 1
    load.detach("nonnull")
    load.detach("nonnull")
    load.attach("nosanitize", "!3")
    assert str(load) == "  %2 = load i32, ptr %p, align 1, !dbg !7, !nosanitize !3"
    with pytest.raises(IrError, match="takes the place of"):
        load.set_text("  ret void")
    add = lazy_instruction("  %a = add nsw i32 %a.0, %b, !dbg !7")
    add.set_operands("%b", "1")
    assert str(add) == "  %a = add nsw i32 %b, 1, !dbg !7"
    with pytest.raises(IrError, match="no operation on two values"):
        lazy_instruction("  %a = icmp eq i32 %a.0, %b").set_operands("1", "2")
    call = lazy_instruction("  call void @f(ptr align 4 %x, i64 4), !dbg !7")
    assert isinstance(call, CallInstruction)
    call.set_arguments(call.operands, ["align 1", ""])
    assert str(call) == "  call void @f(ptr align 1 %x, i64 4), !dbg !7"
    with pytest.raises(IrError, match="without text"):
        str(Instruction(opcode="add"))


def test_a_rewriter_applies_all_changes_together():
    module = Module(TEXT)
    function = module.function("f")
    rewriter = Rewriter(function)
    assert not rewriter.apply()
    for block, each in function.instructions:
        if each.opcode == "add":
            rewriter.replace(each, "%w = add i32 %2, 1", "  %x = add i32 %w, %0")
        elif each.opcode == "store":
            rewriter.insert_before(each, "call void @g(ptr %p)")
            rewriter.insert_after(each, "call void @g(ptr null)")
        elif each.opcode == "phi":
            rewriter.insert_at_start(block, "%z = add i32 %y, 1")
        elif isinstance(each, DebugRecord):
            rewriter.erase(each)
    assert str(module) == TEXT
    assert rewriter.apply()
    assert [each.text.strip() for each in function.blocks["%two"].instructions] == [
        "%y = phi i32 [ %x, %one ], [ 0, %1 ]",
        "%z = add i32 %y, 1",
        "call void @g(ptr %p)",
        "store i32 %y, ptr %p, align 4",
        "call void @g(ptr null)",
        "ret void, !dbg !7",
    ]
    assert [each.result for each in function.blocks["%one"].instructions[:2]] == ["%w", "%x"]
    assert "#dbg" not in str(module)


def test_lines_of_a_module_are_added_replaced_and_removed():
    module = Module(TEXT)
    assert module.add_attribute_group("noinline") == "#3"
    module.add("declare void @new()")
    reference = module.metadata.add("!{}")
    module.replace_line("declare void @g(ptr) #2", "declare void @g(ptr)")
    module.remove_line(module.globals["@c"].text)
    module.remove_target()
    expected = TEXT.replace('target triple = "x86_64"\n', "").replace("@g(ptr) #2", "@g(ptr)")
    expected = expected.replace("@c = alias void (), ptr @f\n", "")
    added = f"attributes #3 = {{ noinline }}\ndeclare void @new()\n{reference} = !{{}}\n"
    assert str(module) == expected + added
    assert module.declares("new")
    with pytest.raises(IrError, match="no line"):
        module.remove_line("declare void @nothing()")


def test_calls_are_direct_or_not():
    direct = lazy_instruction("  %c = call noundef ptr @f(ptr %x), !dbg !7")
    assert isinstance(direct, CallInstruction)
    assert direct.is_direct
    assert direct.name == "f"
    for text in (
        "  %c = call reassoc float null(float noundef 1.0) #12, !dbg !7",
        "  call void inttoptr (i64 4096 to ptr)()",
        "  %c = call ptr getelementptr inbounds (i8, ptr @a, i64 4)(ptr %x)",
        "  call void %f(ptr @g)",
    ):
        call = lazy_instruction(text)
        assert isinstance(call, CallInstruction)
        assert not call.is_direct, text
        assert call.name == ""
    assembly = lazy_instruction('  %a = call i32 asm "mov.b32 $0, $1;", "=r,r"(i32 %b)')
    assert isinstance(assembly, CallInstruction)
    assert assembly.is_assembly
    assert assembly.operands[0].text == "%b"


def test_a_function_keeps_the_attributes_after_its_parameters():
    text = 'define void @f(ptr byval(i8) %x) #1 section "prefix" personality ptr @p {\n'
    function = Module(f"{text}  ret void\n}}\n").function("f")
    assert function.traits == ["section", "personality"]


def test_callees_are_the_same_before_and_after_reading():
    function = Module(
        'define void @f(ptr %p) {\n  tail call void @"a b"(ptr @c)\n  call void %p(ptr @d)\n'
        "  %x = call i32 @g(i32 0)\n  ret void\n}\n"
    ).function("f")
    assert function.callees == {'"a b"', "g"}
    assert function.blocks
    assert function.callees == {'"a b"', "g"}


def test_unnamed_values_get_names():
    module = Module(TEXT)
    function = module.function("f")
    function.name_unnamed("v")
    text = str(module)
    assert "define void @f(ptr noundef %p, i32 %v0)" in text
    assert "  %v2 = load i32, ptr %p" in text
    assert "switch i32 %v2, label %one [" in text
    assert "%x = add nsw i32 %v2, %v0" in text
    assert "[ 0, %v1 ]" in text
    assert list(function.blocks) == ["%v1", "%one", "%two"]
    assert "{\nv1:\n" in text


def test_names_in_strings_are_not_uses():
    variable = Module('@a = constant { ptr, [3 x i8] } { ptr @b, [3 x i8] c"@c " }\n').globals["@a"]
    assert variable.globals == ["@b"]
    with pytest.raises(IrError, match="no name"):
        Module("declare void %f()\n").declarations  # noqa: B018
    assert Module('module asm "nop"\n').has_assembly
    assert not Module(TEXT).has_assembly


CALLER = """\
@odd = weak global [1 x ptr] [ptr @"a b"], section "x@odd", align 8
@llvm.used = appending global [2 x ptr] [ptr @odd, ptr @f], section "llvm.metadata"

define linkonce_odr void @f(ptr %p) #0 {
  %v = atomicrmw add ptr %p, i32 1 monotonic, align 4
  call void asm "call @f", ""()
  call void @g(ptr @f)
  ret void
}

define void @h() #1 {
  fence acquire
  ret void
}

declare void @g(ptr)

attributes #0 = { nounwind "target-cpu"="x" "target-features"="+avx,+avx2" }
attributes #1 = { "a"="b" }
"""


@pytest.mark.parametrize("is_read", [False, True])
def test_a_function_lists_its_facts(is_read):
    module = Module(CALLER)
    f, h = module.functions.values()
    if is_read:
        assert f.blocks
        assert h.blocks
    assert (f.has_atomic_updates, h.has_atomic_updates) == (True, False)
    assert (f.linkage, h.linkage) == ("linkonce_odr", "")
    assert f.globals == {"@f", "@g"}
    assert module.find_target_features(f) == {"+avx", "+avx2"}
    assert module.find_target_features(h) == set()
    assert [each.linkage for each in module.globals.values()] == ["weak", "appending"]


@pytest.mark.parametrize("is_read", [False, True])
def test_rename_globals_changes_whole_names_outside_of_strings(is_read):
    module = Module(CALLER.replace("@odd, ptr @f", "@odd, ptr @ff"))
    if is_read:
        assert module.function("f").blocks
    module.rename_globals({"@f": "@n", "@odd": "@even"})
    assert list(module.functions) == ["n", "h"]
    changed = str(module)
    assert 'asm "call @f"' in changed
    assert 'section "x@odd"' in changed
    assert "define linkonce_odr void @n(ptr %p) #0 {" in changed
    assert "call void @g(ptr @n)" in changed
    assert "[ptr @even, ptr @ff]" in changed
    with pytest.raises(IrError, match="the module has no @o"):
        module.rename_globals({"@o": "@p"})


def test_replace_function_takes_the_text_of_others():
    module = Module(CALLER)
    module.replace_function("h", "define void @other() {\n  ret void\n}")
    module.add("@last = global i8 0")
    begin, end = CALLER.index("define void @h"), CALLER.index("\n\ndeclare")
    new = "define void @other() {\n  ret void\n}"
    assert str(module) == f"{CALLER[:begin]}{new}{CALLER[end:]}@last = global i8 0\n"
    assert list(module.functions) == ["f"]
    with pytest.raises(IrError, match="does not define h"):
        module.replace_function("h", "")


def test_select_removes_other_functions_and_variables():
    module = Module(CALLER)
    module.add("@added = global i8 0")
    module.add("@more = global i8 0")
    selected = module.select({"@f", "@more"})
    assert list(selected.functions) == ["f"]
    assert list(selected.globals) == ["@llvm.used", "@more"]
    assert selected.declarations == module.declarations


def test_with_initializer_keeps_the_rest():
    odd = Module(CALLER).globals["@odd"]
    new = odd.with_initializer(ArrayType(0, POINTER), "[]")
    assert new.text == '@odd = weak global [0 x ptr] [], section "x@odd", align 8'


@pytest.mark.parametrize(
    ("text", "accessed"),
    [
        ("  %x = load atomic volatile i32, ptr %p monotonic, align 4", Int(32)),
        ("  %x = load <4 x float>, ptr %p, align 16, !tbaa !2", Vector(4, Float("float"))),
        ("  store volatile { i32, ptr } %v, ptr %p, align 8", Struct((Int(32), POINTER))),
        ("  store ptr addrspace(3) %load, ptr %p, align 8", Pointer(3)),
    ],
)
def test_the_accessed_type_is_known_before_other_fields_are_read(text, accessed):
    assert lazy_instruction(text.replace("ptr %p", "not read")).accessed == accessed
    # Reading the fields as well finds the same type.
    access = lazy_instruction(text)
    assert access.operands
    assert access.accessed == accessed


def test_name_unnamed_keeps_strings_and_comments():
    text = """\
define void @f(i32 %0) {
  call void asm "mov %0, %1", "r"(i32 %0)
  br label %2

2:                                                ; preds = %1
  %3 = add i32 %0, 2
  br label %named

named:                                            ; preds = %2
  ret void
}"""
    module = Module(text)
    module.function("f").name_unnamed("u")
    named = """\
define void @f(i32 %u0) {
u1:
  call void asm "mov %0, %1", "r"(i32 %u0)
  br label %u2

u2:                                                ; preds = %1
  %u3 = add i32 %u0, 2
  br label %named

named:                                            ; preds = %2
  ret void
}"""
    assert str(module) == named


def test_lines_are_found_at_both_ends_of_a_module() -> None:
    text = '@a = global i32 1\n@b = global [9 x i8] c"\\0A@c = \\00"\ndeclare void @g(ptr)'
    module = Module(text)
    assert [*module.globals] == ["@a", "@b"]
    assert module.declarations == {"@g": "declare void @g(ptr)"}
    assert not module.has_assembly
    assert Module('module asm "nop"').has_assembly
    assert Module("attributes #0 = { nounwind }").attribute_groups == {"#0": "nounwind"}


@pytest.mark.parametrize(
    ("text", "operand", "expected"),
    [
        (
            "  br i1 false, label %cond.false, label %cond.true, !dbg !10",
            Value(BOOL, "false"),
            "  br i1 %by, label %cond.false, label %cond.true, !dbg !10",
        ),
        (
            "  store i64 8, ptr %at.8, align 8, !dbg !8",
            Value(Int(64), "8"),
            "  store i1 %by, ptr %at.8, align 8, !dbg !8",
        ),
        ("  %x = add i64 %a, %a.1", Value(Int(64), "%a"), "  %x = add i1 %by, %a.1"),
    ],
)
def test_replace_operand_changes_operands_only(text: str, operand: Value, expected: str) -> None:
    instruction = lazy_instruction(text)
    instruction.replace_operand(operand, Value(BOOL, "%by"))
    assert instruction.text == expected
