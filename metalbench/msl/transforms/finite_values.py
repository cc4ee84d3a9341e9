"""Report infinities and NaN in arithmetic with fast math, which macOS 14 assumes absent.

macOS 15 and the engine keep infinities and NaN under fast math. The compiler of macOS 14 may assume
that there are none: an instruction that has one as an operand or as its result may give any value.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalbench.msl.ir.model import Function, Instruction, Phi, Value
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Float, Type, Vector

_HELPER = "mb_check_finite"
# Clang gives it to every floating-point instruction and call with fast math, and to no other.
_FAST = " reassoc "


def check_finite_values(module: Module) -> None:
    """Check the operands and results of the user's arithmetic with fast math. Raises IrError."""
    for function in module.users_functions():
        is_changed = function.mentions(_FAST) and _check_function(function)
        if is_changed and not module.declares(_HELPER):
            raise IrError(f"the module has no {_HELPER} for {function.name}")


def _check_function(function: Function) -> bool:
    rewriter, number = Rewriter(function), 0
    for block in function.blocks.values():
        # A value is checked once in a block.
        known: set[str] = set()
        for each in block.instructions:
            if isinstance(each, Phi) or _FAST not in each.text:
                continue
            for value in each.operands:
                if _may_be_special(value) and value.text not in known:
                    known.add(value.text)
                    number += 1
                    rewriter.insert_before(each, *_check(value, number, each))
            if each.opcode != "fcmp" and _is_float(each.type):
                known.add(each.result)
                number += 1
                result = Value(each.type, each.result)
                rewriter.insert_after(each, *_check(result, number, each))
    return rewriter.apply()


def _is_float(type_: Type) -> bool:
    return isinstance(type_.element if isinstance(type_, Vector) else type_, Float)


def _may_be_special(value: Value) -> bool:
    """Return whether it is a variable, or a constant in hexadecimal, as infinities and NaN are."""
    return _is_float(value.type) and (value.is_local or "0x" in value.text)


def _check(value: Value, number: int, at: Instruction) -> Iterator[str]:
    """Yield a call with two flags: a component is infinite or NaN, and one is NaN."""
    name = f"%mb.finite.{number}"
    # The difference of an infinity or NaN and itself is NaN.
    yield f"{name}.difference = fsub {value}, {value.text}"
    flags = []
    for what, compared in (("special", f"{name}.difference"), ("nan", value.text)):
        flag, found = f"{name}.{what}", f"{name}.{what}.each"
        yield f"{found} = fcmp uno {value.type} {compared}, {compared}"
        if isinstance(value.type, Vector):
            bits = f"i{value.type.count}"
            yield f"{flag}.bits = bitcast <{value.type.count} x i1> {found} to {bits}"
            found = f"{flag}.any"
            yield f"{found} = icmp ne {bits} {flag}.bits, 0"
        yield f"{flag} = zext i1 {found} to i32"
        flags.append(f"i32 {flag}")
    yield f"call void @{_HELPER}({', '.join(flags)}){at.located}"
