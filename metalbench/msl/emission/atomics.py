"""Atomic operations of one lane."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.ir.model import Atomic

_ARITHMETIC = ("add", "sub", "and", "or", "xor", "fadd", "fsub")
# The condition under which the old value stays.
_EXTREMES = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}


def atomic_operation(body: Body, atomic: Atomic, operands: Sequence[str]) -> str:
    """Write an operation on these operands, without their types; its result, empty for a fence."""
    if atomic.opcode == "fence":
        body.code.line(_text(atomic, []))
        return ""
    if atomic.operands[0].text in body.kernel.in_threadgroup:
        found = _by_itself(body, atomic, operands)
        if found:
            return found
    typed = [f"{each.type} {text}" for each, text in zip(atomic.operands, operands, strict=True)]
    return body.code.value(_text(atomic, typed))


def _text(atomic: Atomic, operands: Sequence[str]) -> str:
    words = ("weak " if atomic.weak else "") + ("volatile " if atomic.volatile else "")
    scope = f' syncscope("{atomic.scope}")' if atomic.scope else ""
    orderings = " ".join(atomic.orderings)
    if atomic.opcode == "fence":
        return f"fence{scope} {orderings}"
    operation = f"{atomic.operation} " if atomic.operation else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    given = ", ".join(operands)
    return f"{atomic.opcode} {words}{operation}{given}{scope} {orderings}{aligned}"


def _by_itself(body: Body, atomic: Atomic, operands: Sequence[str]) -> str:
    """A load and a store, or nothing if that cannot be written.

    One thread of the processor runs all of a threadgroup, and leaves a lane at a barrier only:
    nobody else comes in between. A processor's own atomic operations take several times as long.
    """
    code, kind, address = body.code, atomic.operands[1].type, operands[0]
    is_exchange = atomic.opcode == "cmpxchg"
    if not is_exchange and atomic.operation not in ("xchg", *_ARITHMETIC, *_EXTREMES):
        return ""
    volatile = "volatile " if atomic.volatile else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    old = code.value(f"load {volatile}{kind}, ptr {address}{aligned}")
    is_same = ""
    if is_exchange:
        is_same = code.value(f"icmp eq {kind} {old}, {operands[1]}")
        new = code.value(f"select i1 {is_same}, {kind} {operands[2]}, {kind} {old}")
    elif atomic.operation in _ARITHMETIC:
        new = code.value(f"{atomic.operation} {kind} {old}, {operands[1]}")
    elif atomic.operation in _EXTREMES:
        is_more = code.value(f"icmp {_EXTREMES[atomic.operation]} {kind} {old}, {operands[1]}")
        new = code.value(f"select i1 {is_more}, {kind} {old}, {kind} {operands[1]}")
    else:
        new = operands[1]
    code.line(f"store {volatile}{kind} {new}, ptr {address}{aligned}")
    if not is_exchange:
        return old
    pair = code.value(f"insertvalue {atomic.type} poison, {kind} {old}, 0")
    return code.value(f"insertvalue {atomic.type} {pair}, i1 {is_same}, 1")
