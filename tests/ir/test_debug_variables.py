"""Variables of the source in debug information, and facts of a function's parameters."""

from __future__ import annotations

from metalbench.msl.ir.model import DebugRecord
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import SourceVariable

IR = """\
@tile = internal global [64 x i8] zeroinitializer, section "mb_threadgroup", align 16, !dbg !5

define void @f(ptr noundef nonnull align 8 dereferenceable(24) %m, i32 %n) {
entry:
  %a = alloca [4 x float], align 16
    #dbg_declare(ptr %a, !1, !DIExpression(), !4)
    #dbg_value(i32 %n, !2, !DIExpression(), !4)
  ret void
}

!0 = !DIFile(filename: "k.metal", directory: "/tmp")
!1 = !DILocalVariable(name: "a", scope: !3, file: !0, line: 7, type: !9)
!2 = !DILocalVariable(name: "n", arg: 1, scope: !3, file: !0, line: 3, type: !9)
!3 = distinct !DISubprogram(name: "f", file: !0, line: 3)
!4 = !DILocation(line: 7, scope: !3)
!5 = !DIGlobalVariableExpression(var: !6, expr: !DIExpression())
!6 = distinct !DIGlobalVariable(name: "tile", scope: !3, file: !0, line: 5, type: !9)
"""


def test_debug_records_name_the_memory_of_a_variable():
    module = Module(IR)
    records = [
        each for _, each in module.function("f").instructions if isinstance(each, DebugRecord)
    ]
    assert [each.address for each in records] == ["%a", ""]
    described = [module.metadata.variable(each.variable) for each in records]
    assert described == [SourceVariable("a", "k.metal", 7), SourceVariable("n", "k.metal", 3)]


def test_global_description_leads_to_its_declaration():
    module = Module(IR)
    found = module.globals["@tile"]
    assert module.metadata.variable(found.description) == SourceVariable("tile", "k.metal", 5)
    assert module.metadata.variable("!3") is None
    assert module.metadata.variable("") is None


def test_parameter_bytes_are_those_behind_a_pointer():
    function = Module(IR).function("f")
    assert [function.parameter_bytes(at) for at in range(2)] == [24, 0]
