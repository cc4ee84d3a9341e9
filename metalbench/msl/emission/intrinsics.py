"""Functions that a kernel calls: LLVM's own, lane by lane in one instruction, and others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import suffix
from metalbench.msl.emission.filling import fill
from metalbench.msl.emission.functions import joined
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import execute, one_by_one
from metalbench.msl.ir.model import Call
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import VOID, Vector
from metalbench.msl.vector.private import ASSUME_LIKE, MEMSET

# Those that work on vectors as they do on scalars, element by element.
_BY_ELEMENT = frozenset(
    {
        *("fma", "fmuladd", "sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint"),
        *("round", "roundeven", "minnum", "maxnum", "minimum", "maximum", "minimumnum"),
        *("maximumnum", "copysign", "smin", "smax", "umin", "umax", "abs", "ctpop", "ctlz"),
        *("cttz", "bswap", "bitreverse", "fshl", "fshr", "uadd.sat", "usub.sat", "sadd.sat"),
        *("ssub.sat", "is.fpclass", "fptosi.sat", "fptoui.sat", "canonicalize"),
        *("ucmp", "scmp"),
    }
)
# Operands that must be constants, the same for all lanes.
_CONSTANT = {"abs": 1, "ctlz": 1, "cttz": 1, "is.fpclass": 1}
# Of one vector's elements, and the instruction or function that joins two of them.
_REDUCTIONS = {
    **{each: each for each in ("add", "mul", "and", "or", "xor", "fadd", "fmul")},
    **{each: f"llvm.{each}" for each in ("smin", "smax", "umin", "umax")},
    "fmin": "llvm.minnum",
    "fmax": "llvm.maxnum",
}
_OVERLOAD = re.compile(r"(?:v\d+)?(?:f\d+|bf16|i\d+|p\d+)$")


def call(body: Body, instruction: Call) -> Lanes | None:
    """A call of anything but what the vectoriser itself stands for; None without a result."""
    name = instruction.name
    if name.startswith(ASSUME_LIKE):
        return None
    if not name:
        raise IrError(f"a call of {instruction.callee[:40]}")
    if name.startswith(MEMSET) and instruction.operands[0].text in body.analysis.layout.interleaved:
        fill(body, instruction)
        return None
    operands = [body.get(each) for each in instruction.operands]
    alike = all(each.is_uniform for each in operands)
    if alike and name not in body.kernel.apart:
        found = execute(body, instruction, [each.scalar for each in operands])
        return Lanes(instruction.type, found) if instruction.type != VOID else None
    if not name.startswith("llvm.") or name.startswith("llvm.mem"):
        found_apart = one_by_one(body, instruction)
        return found_apart if instruction.type != VOID else None
    return Lanes(instruction.type, vectors=_vectors(body, instruction, operands))


def _vectors(body: Body, call: Call, operands: Sequence[Lanes]) -> tuple[str, ...]:
    """The results of one of LLVM's own functions."""
    stem = _stem(call.name)
    if stem in _BY_ELEMENT:
        return _by_element(body, call, stem, operands)
    if stem.startswith("vector.reduce."):
        return (_reduced(body, call, stem.removeprefix("vector.reduce."), operands),)
    if stem.endswith(".with.overflow"):
        return _with_overflow(body, call, stem, operands)
    if stem == "powi":
        return one_by_one(body, call).vectors
    raise IrError(f"the intrinsic {call.name}")


def _stem(name: str) -> str:
    """An intrinsic's name without the types that it is for."""
    parts = name.split(".")[1:]
    while parts and _OVERLOAD.fullmatch(parts[-1]):
        parts.pop()
    return ".".join(parts)


def _by_element(body: Body, call: Call, stem: str, operands: Sequence[Lanes]) -> tuple[str, ...]:
    code, found = body.code, []
    flags = "".join(f"{each} " for each in call.flags)
    overloads = [part for part in call.name.split(".") if _OVERLOAD.fullmatch(part)]
    name = f"llvm.{stem}." + ".".join(
        f"v{body.width}{re.sub(r'^v[0-9]+', '', each)}" for each in overloads
    )
    constant = _CONSTANT.get(stem)
    for at, kind in enumerate(body.components(call.type)):
        arguments = []
        for place, operand in enumerate(operands):
            if place == constant:
                arguments.append((str(operand.type), operand.scalar))
                continue
            of = body.components(operand.type)
            arguments.append((code.lanes(of[at]), body.vectors(operand)[at]))
        if stem in ("minnum", "maxnum"):
            first, second = (vector for _, vector in arguments)
            found.append(
                joined(code, f"llvm.{stem}", kind, first, second, count=body.width, flags=flags)
            )
        else:
            found.append(code.call(name, code.lanes(kind), arguments, flags=flags))
    return tuple(found)


def _with_overflow(body: Body, call: Call, stem: str, operands: Sequence[Lanes]) -> tuple[str, ...]:
    code, kind = body.code, operands[0].type
    lanes = code.lanes(kind)
    result = f"{{ {lanes}, {code.mask} }}"
    arguments = [(lanes, body.vector(each)) for each in operands]
    both = code.call(f"llvm.{stem}.v{body.width}{suffix(kind)}", result, arguments)
    return tuple(code.value(f"extractvalue {result} {both}, {at}") for at in (0, 1))


def _reduced(body: Body, call: Call, kind: str, operands: Sequence[Lanes]) -> str:
    """The elements of every lane's own vector, joined from the first to the last."""
    join = _REDUCTIONS.get(kind)
    vector = operands[-1].type
    if join is None or not isinstance(vector, Vector):
        raise IrError(f"the intrinsic {call.name}")
    parts = list(body.vectors(operands[-1]))
    if len(operands) > 1:
        parts.insert(0, body.vector(operands[0]))
    found, flags = parts[0], "".join(f"{each} " for each in call.flags)
    for each in parts[1:]:
        found = joined(body.code, join, vector.element, found, each, count=body.width, flags=flags)
    return found
