"""Give instructions the behaviour that Metal defines, where LLVM leaves it undefined.

Metal leaves undefined what Apple's GPUs do without harm: accesses that are not aligned as their
type is, and the one signed division that overflows. LLVM may assume neither, and x86-64 faults on
both. Metal defines shifts by any amount, which counts modulo the width. LLVM defines those by less
than the width.
"""

from __future__ import annotations

import re

from metalbench.msl.ir.model import CallInstruction, Instruction, Memory
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.operands import (
    alignment_of,
    with_alignment,
    without_reference_alignment,
)
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Int, Vector
from metalbench.msl.transforms.finite_values import check_finite_values
from metalbench.msl.transforms.member_bounds import check_member_bounds
from metalbench.msl.transforms.provenance import pass_origins
from metalbench.msl.transforms.source_names import name_subscripts

_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
_DIVISIONS = ("sdiv", "srem")
_SHIFTS = ("shl", "lshr", "ashr")
_RESULT = r"[ \t]+(?:%(?:\"[^\"]*\"|[-\w.$]+) = )?"
# A constant below the width.
_SMALL_AMOUNT = r"i(?:8 \S+ [0-7]|16 \S+ (?:\d|1[0-5])|(?:32|64) \S+ (?:[12]?\d|3[01]))\b"
# Divisions and shifts that LLVM may leave undefined.
_DEFINED_OTHERWISE = re.compile(
    rf" = (?:(?:{'|'.join(_DIVISIONS)}) [^\n]*, %"
    rf"|(?:{'|'.join(_SHIFTS)}) (?!(?:(?:nuw|nsw|exact) )*{_SMALL_AMOUNT}))"
)
# Accesses that are not atomic, and calls with attributes of their arguments.
_ALIGNED_ACCESS = re.compile(
    rf"^({_RESULT}(?:load|store) (?!atomic ).*), align \d+(.*)$|"
    rf"^{_RESULT}(?:(?:tail|musttail|notail) )?call .* align .*$",
    re.M,
)
_ALIGN_ATTACHMENT = re.compile(r", !align !\d+")


def give_metal_semantics(module: Module, *, checked: bool, arithmetic: bool = False) -> None:
    """Change a module before LLVM's passes; instrument a checked build. Raises IrError.

    Builds that check `arithmetic` also check for values that fast math may assume absent.
    """
    if checked:
        if arithmetic:
            check_finite_values(module)
        check_copies(module)
        check_member_bounds(module)
        pass_origins(module)
        name_subscripts(module)
        define_divisions_and_shifts(module)
    else:
        # In this order most functions are searched before their instructions are read.
        define_divisions_and_shifts(module)
        forget_alignment(module)


def forget_alignment(module: Module) -> None:
    """Promise no alignment but that of variables on the stack and of atomic accesses."""
    for function in module.functions.values():
        function.head = without_reference_alignment(function.head)
        if not function.mentions("align "):
            continue
        if not function.is_read:
            function.substitute(_ALIGNED_ACCESS, _forget_alignment_in_line)
            continue
        for _, each in function.instructions:
            if isinstance(each, Memory):
                if not each.is_atomic:
                    each.set_alignment(1)
                each.detach("align")
            elif isinstance(each, CallInstruction) and " align " in each.text:
                each.set_text(without_reference_alignment(each.text))
                if each.name.startswith(_COPIES):
                    parameters = [with_alignment(given, 1) for given in each.parameters]
                    each.set_arguments(each.operands, parameters)
    for line in module.declarations.values():
        if "dereferenceable" in line:
            module.replace_line(line, without_reference_alignment(line))


def _forget_alignment_in_line(line: re.Match[str]) -> str:
    """Return the line of an access or of a call, as `forget_alignment` changes instructions."""
    before, behind = line.groups()
    if before is not None:
        return _ALIGN_ATTACHMENT.sub("", f"{before}, align 1{behind}")
    text = without_reference_alignment(line[0])
    callee = text.find("@")
    if any(text.startswith(each, callee + 1) for each in _COPIES):
        return text[:callee] + with_alignment(text[callee:], 1)
    return text


def define_divisions_and_shifts(module: Module) -> None:
    """Divide by what does not overflow, and shift by the amount modulo the width.

    Raises IrError for a division that the MSL headers have no helper for (mb/cpu/division.h).
    """
    for function in module.functions.values():
        if not function.is_read and not _DEFINED_OTHERWISE.search(function.text):
            continue
        rewriter = Rewriter(function)
        for _, each in function.instructions:
            if each.opcode in _DIVISIONS and each.operands[1].is_local:
                _divide_without_overflow(each, module, rewriter)
            elif each.opcode in _SHIFTS:
                _shift_by_remainder(each, rewriter)
        rewriter.apply()


def _divide_without_overflow(division: Instruction, module: Module, rewriter: Rewriter) -> None:
    """Divide by what `mb_divisor` returns: another divisor where the quotient does not fit."""
    dividend, divisor = division.operands
    helper = f"mb_divisor_{division.type}"
    if not module.declares(helper):
        raise IrError(f"the module has no {helper} for {division.text.strip()!r}")
    name = f"%mb.divisor.{division.result[1:]}"
    call = f"call {division.type} @{helper}({dividend}, {divisor})"
    rewriter.insert_before(division, f"{name} = {call}{division.located}")
    division.set_operands(dividend.text, name)


def _shift_by_remainder(shift: Instruction, rewriter: Rewriter) -> None:
    """Shift by the amount modulo the width, which is a power of two. Raises IrError if not."""
    type_, (value, amount) = shift.type, shift.operands
    element = type_.element if isinstance(type_, Vector) else type_
    if not isinstance(element, Int) or element.bits & (element.bits - 1):
        raise IrError(f"no width of a power of two: {shift.text.strip()!r}")
    if amount.integer is not None:
        shift.set_operands(value.text, str(amount.integer % element.bits))
    elif amount.is_local:
        mask = str(element.bits - 1)
        if isinstance(type_, Vector):
            mask = f"splat ({element} {mask})"
        name = f"%mb.amount.{shift.result[1:]}"
        rewriter.insert_before(shift, f"{name} = and {amount}, {mask}{shift.located}")
        shift.set_operands(value.text, name)


def check_copies(module: Module) -> None:
    """Ask about the alignment of both ends of a copy of a struct, in the user's functions.

    Clang's own check knows accesses to scalars and members only.
    """
    for function in module.users_functions():
        if not any(map(function.mentions, _COPIES)):
            continue
        rewriter = Rewriter(function)
        local = {each.result for _, each in function.instructions if each.opcode == "alloca"}
        for _, each in function.instructions:
            if isinstance(each, CallInstruction) and each.name.startswith(_COPIES) and each.place:
                for which, (pointer, attributes) in enumerate(
                    zip(each.operands[:2], each.parameters, strict=False)
                ):
                    alignment = alignment_of(attributes) or 1
                    if alignment != 1 and pointer.text not in local:
                        given = f"{pointer}, i64 {alignment}, i32 {1 - which}"
                        call = f"call void @mb_check_alignment({given}){each.located}"
                        rewriter.insert_before(each, call)
        if rewriter.apply() and not module.declares("mb_check_alignment"):
            raise IrError(f"the module has no mb_check_alignment for {function.name}")
