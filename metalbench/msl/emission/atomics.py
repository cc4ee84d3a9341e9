"""Atomic operations of one lane."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.emission.body import Emitter
from metalbench.msl.ir.model import Atomic

_ARITHMETIC = ("add", "sub", "and", "or", "xor", "fadd", "fsub")
# The comparison under which the old value stays.
_EXTREMES = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}


def emit_atomic(emitter: Emitter, atomic: Atomic, operands: Sequence[str]) -> str:
    """Emit an atomic operation on operands without types. Return its result; empty for a fence."""
    if atomic.opcode == "fence":
        emitter.ir.emit_void(_format_atomic(atomic, []))
        return ""
    if atomic.operands[0].text in emitter.kernel.threadgroup_addresses:
        found = _emit_non_atomic(emitter, atomic, operands)
        if found:
            return found
    typed = [f"{each.type} {text}" for each, text in zip(atomic.operands, operands, strict=True)]
    return emitter.ir.emit(_format_atomic(atomic, typed))


def _format_atomic(atomic: Atomic, operands: Sequence[str]) -> str:
    words = ("weak " if atomic.weak else "") + ("volatile " if atomic.volatile else "")
    scope = f' syncscope("{atomic.scope}")' if atomic.scope else ""
    orderings = " ".join(atomic.orderings)
    if atomic.opcode == "fence":
        return f"fence{scope} {orderings}"
    operation = f"{atomic.operation} " if atomic.operation else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    given = ", ".join(operands)
    return f"{atomic.opcode} {words}{operation}{given}{scope} {orderings}{aligned}"


def _emit_non_atomic(emitter: Emitter, atomic: Atomic, operands: Sequence[str]) -> str:
    """Emit a load and a store instead of an atomic operation; return "" if that is impossible.

    One processor thread runs a threadgroup, and changes to another SIMD-group at barriers only. No
    other access can intervene. Atomic instructions take several times as long.
    """
    ir, kind, address = emitter.ir, atomic.operands[1].type, operands[0]
    is_exchange = atomic.opcode == "cmpxchg"
    if not is_exchange and atomic.operation not in ("xchg", *_ARITHMETIC, *_EXTREMES):
        return ""
    volatile = "volatile " if atomic.volatile else ""
    aligned = f", align {atomic.alignment}" if atomic.alignment else ""
    old = ir.emit(f"load {volatile}{kind}, ptr {address}{aligned}")
    is_same = ""
    if is_exchange:
        is_same = ir.emit(f"icmp eq {kind} {old}, {operands[1]}")
        new = ir.emit(f"select i1 {is_same}, {kind} {operands[2]}, {kind} {old}")
    elif atomic.operation in _ARITHMETIC:
        new = ir.emit(f"{atomic.operation} {kind} {old}, {operands[1]}")
    elif atomic.operation in _EXTREMES:
        is_more = ir.emit(f"icmp {_EXTREMES[atomic.operation]} {kind} {old}, {operands[1]}")
        new = ir.emit(f"select i1 {is_more}, {kind} {old}, {kind} {operands[1]}")
    else:
        new = operands[1]
    ir.emit_void(f"store {volatile}{kind} {new}, ptr {address}{aligned}")
    if not is_exchange:
        return old
    pair = ir.emit(f"insertvalue {atomic.type} poison, {kind} {old}, 0")
    return ir.emit(f"insertvalue {atomic.type} {pair}, i1 {is_same}, 1")
