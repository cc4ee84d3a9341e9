"""Instructions that compute: once where one value tells all lanes', else on vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalbench.msl.emission.body import Body
from metalbench.msl.emission.code import literal
from metalbench.msl.emission.lanes import Lanes, splat
from metalbench.msl.ir.model import Compare, Instruction, Part, Shuffle, Value
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Float, Int, Struct, Type
from metalbench.msl.vector.shapes import UNIFORM, Linear

BINARY = frozenset(
    {
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"),
        *("and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem"),
    }
)
CASTS = frozenset(
    {
        *("zext", "sext", "trunc", "bitcast", "fptoui", "fptosi", "uitofp", "sitofp"),
        *("fpext", "fptrunc", "ptrtoint", "inttoptr", "addrspacecast"),
    }
)
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
# What is promised of an integer holds for the lanes that are active. Lane 0 may not be.
_PROMISES = frozenset({"nuw", "nsw", "nneg", "disjoint", "exact", "samesign"})


def compute(body: Body, instruction: Instruction) -> Lanes:
    """The result of an instruction that reaches no memory. Raises IrError."""
    shape = body.analysed.shapes.of(Value(instruction.type, instruction.result))
    operands = [body.get(each) for each in instruction.operands]
    if all(each.is_uniform for each in operands):
        return Lanes(instruction.type, _once(body, instruction, operands))
    if shape is UNIFORM:  # of what differs from lane to lane in the same way
        return _linear(body, instruction, operands, Linear(0))
    if isinstance(shape, Linear):
        return _linear(body, instruction, operands, shape)
    found = Lanes(instruction.type, vectors=_vectors(body, instruction, operands))
    if isinstance(instruction, Compare):
        found.ends = _ends(body, instruction, operands)
    return found


def _ends(body: Body, compare: Compare, operands: Sequence[Lanes]) -> tuple[str, str, str] | None:
    """The first and the last lane's answer where it can change once only, and whether it does.

    That takes all lanes, and values that do not wrap from the first to the last of them.
    """
    relation, kind = compare.predicate, operands[0].type
    follow = all(each.is_linear and not each.holds for each in operands)
    if body.mask or not body.launch.rows or relation[0] not in "us" or not follow:
        return None
    if compare.opcode != "icmp" or not isinstance(kind, Int):
        return None
    code, lasts, holds = body.code, [], []
    for each in operands:
        last = each.scalar
        if each.stride:
            distance = literal(kind, each.stride * (body.width - 1))
            last = code.value(f"add {kind} {each.scalar}, {distance}")
            grows = "ge" if each.stride > 0 else "le"
            if abs(each.stride) * body.width >= 1 << (kind.bits - 1):
                return None
            holds.append(code.value(f"icmp {relation[0]}{grows} {kind} {last}, {each.scalar}"))
        lasts.append(last)
    whole = holds[0] if len(holds) == 1 else code.value(f"and i1 {holds[0]}, {holds[1]}")
    first, last = (
        code.value(f"icmp {relation} {kind} {one}, {other}")
        for one, other in ([each.scalar for each in operands], lasts)
    )
    return first, last, whole


def _once(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> str:
    """On the one value that all lanes have."""
    scalars = [each.scalar for each in operands]
    opcode = instruction.opcode
    if opcode in _DIVISIONS and instruction.operands[1].integer is None:
        scalars[1] = _safe_divisor(body, instruction, str(instruction.type), scalars)
    typed = [f"{each.type} {scalar}" for each, scalar in zip(operands, scalars, strict=True)]
    if isinstance(instruction, Shuffle):
        mask = ", ".join("i32 poison" if at < 0 else f"i32 {at}" for at in instruction.mask)
        return body.code.value(
            f"shufflevector {', '.join(typed)}, <{len(instruction.mask)} x i32> <{mask}>"
        )
    if isinstance(instruction, Part):
        places = "".join(f", {each}" for each in instruction.indices)
        return body.code.value(f"{opcode} {', '.join(typed)}{places}")
    if opcode in ("select", "extractelement", "insertelement"):
        return body.code.value(f"{opcode} {_flags(instruction)}{', '.join(typed)}")
    return body.code.value(_text(instruction, str(operands[0].type), scalars, instruction.type))


def _text(
    instruction: Instruction, of: str, values: Sequence[str], to: Type | str, drop: bool = False
) -> str:
    """A unary, binary, comparing or casting instruction on values of one type."""
    opcode, flags = instruction.opcode, _flags(instruction, drop=drop)
    if opcode in CASTS:
        return f"{opcode} {flags}{of} {values[0]} to {to}"
    if isinstance(instruction, Compare):
        return f"{opcode} {flags}{instruction.predicate} {of} {values[0]}, {values[1]}"
    if opcode in BINARY:
        return f"{opcode} {flags}{of} {values[0]}, {values[1]}"
    if opcode in ("fneg", "freeze"):
        return f"{opcode} {flags}{of} {values[0]}"
    raise IrError(f"{opcode} of lanes")


def _flags(instruction: Instruction, *, drop: bool = False) -> str:
    kept = (each for each in instruction.flags if not drop or each not in _PROMISES)
    return "".join(f"{each} " for each in kept)


def _linear(
    body: Body, instruction: Instruction, operands: Sequence[Lanes], shape: Linear
) -> Lanes:
    """On lane 0's values: the others' follow."""
    code, scalars, opcode = body.code, [each.scalar for each in operands], instruction.opcode
    if opcode == "select":
        condition, yes, no = scalars
        kind = instruction.type
        found = code.value(f"select i1 {condition}, {kind} {yes}, {kind} {no}")
    elif opcode == "or":  # of disjoint bits, in every lane but perhaps not in lane 0
        found = code.value(f"add {instruction.type} {scalars[0]}, {scalars[1]}")
    else:
        of = str(operands[0].type)
        found = code.value(_text(instruction, of, scalars, instruction.type, drop=True))
    result = Lanes(instruction.type, found, shape.stride)
    if shape.checked:
        result.holds = _holds(body, instruction, operands, shape.stride)
        result.vectors = _vectors(body, instruction, operands)
    return result


def _holds(body: Body, instruction: Instruction, operands: Sequence[Lanes], stride: int) -> str:
    """Whether no lane's value wrapped on the way."""
    code = body.code
    given = [each.holds for each in operands if each.holds]
    if instruction.opcode in ("zext", "sext") and not given:
        return _stays(body, instruction, operands[0], stride)
    if not given:
        return "true"
    found = given[0]
    for each in given[1:]:
        found = code.value(f"and i1 {found}, {each}")
    return found


def _stays(body: Body, widening: Instruction, operand: Lanes, stride: int) -> str:
    """Whether lane 0's value and the last lane's lie on the same side of where numbers wrap."""
    type_ = operand.type
    assert isinstance(type_, Int)
    last = stride * (body.width - 1)
    signed = widening.opcode == "sext"
    least, most = (
        (-(1 << type_.bits - 1), (1 << type_.bits - 1) - 1)
        if signed
        else (
            0,
            (1 << type_.bits) - 1,
        )
    )
    if abs(last) > most:
        return "false"
    limit = most - last if stride > 0 else least - last
    relation = ("s" if signed else "u") + ("le" if stride > 0 else "ge")
    return body.code.value(f"icmp {relation} {type_} {operand.scalar}, {literal(type_, limit)}")


def _vectors(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    special: dict[str, Callable[..., tuple[str, ...]]] = {
        "select": _select,
        "extractelement": _extract,
        "insertelement": _insert,
        "shufflevector": _shuffle,
        "extractvalue": _take,
        "insertvalue": _put,
    }
    if instruction.opcode in special:
        return special[instruction.opcode](body, instruction, operands)
    given = [body.vectors(each) for each in operands]
    of = body.components(operands[0].type)
    to = body.components(instruction.type)
    if instruction.opcode == "bitcast" and len(of) != len(to):
        return _recast(body, of[0], to, given[0])
    found = []
    for at, (kind, values) in enumerate(zip(of, zip(*given, strict=True), strict=True)):
        lanes, values = body.code.lanes(kind), list(values)
        if instruction.opcode in _DIVISIONS:
            values[1] = _divisor(body, instruction, lanes, values, kind)
        to_lanes = body.code.lanes(to[at])
        found.append(body.code.value(_text(instruction, lanes, values, to_lanes)))
    return tuple(found)


def _divisor(
    body: Body, instruction: Instruction, lanes: str, values: Sequence[str], kind: Type
) -> str:
    if instruction.operands[1].integer is not None:
        return values[1]
    divisor = values[1]
    if body.mask:
        one = splat(body.code, kind, "1")
        divisor = body.code.value(
            f"select {body.code.mask} {body.mask}, {lanes} {divisor}, {lanes} {one}"
        )
    return _safe_divisor(body, instruction, lanes, [values[0], divisor])


def _safe_divisor(body: Body, instruction: Instruction, type_: str, values: Sequence[str]) -> str:
    """Another divisor where the quotient does not fit: of the least number by -1."""
    if instruction.opcode not in ("sdiv", "srem"):
        return values[1]
    code = body.code
    (kind, *_) = body.components(instruction.type)
    wide = type_.startswith("<") and isinstance(kind, Int)
    assert isinstance(kind, Int)

    def constant(number: int) -> str:
        return f"splat ({kind} {number})" if wide else str(number)

    truth = f"{type_.rpartition(' x ')[0]} x i1>" if wide else "i1"
    is_least = code.value(f"icmp eq {type_} {values[0]}, {constant(-(1 << kind.bits - 1))}")
    is_minus = code.value(f"icmp eq {type_} {values[1]}, {constant(-1)}")
    both = code.value(f"and {truth} {is_least}, {is_minus}")
    return code.value(f"select {truth} {both}, {type_} {constant(1)}, {type_} {values[1]}")


def _select(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    condition, yes, no = operands
    flags = _flags(instruction)
    one = condition.is_uniform and condition.type == BOOL
    conditions = [condition.scalar] if one else body.vectors(condition)
    truth = "i1" if one else body.code.mask
    found = []
    for at, kind in enumerate(body.components(instruction.type)):
        lanes = body.code.lanes(kind)
        which = conditions[at] if len(conditions) > 1 else conditions[0]
        values = f"{lanes} {body.vectors(yes)[at]}, {lanes} {body.vectors(no)[at]}"
        found.append(body.code.value(f"select {flags}{truth} {which}, {values}"))
    return tuple(found)


def _extract(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    vectors, index = body.vectors(operands[0]), instruction.operands[1].integer
    if index is not None:
        return (vectors[index],)
    chosen = vectors[0]
    lanes = body.code.lanes(instruction.type)
    for at in range(1, len(vectors)):
        here = _is_index(body, operands[1], at)
        chosen = body.code.value(f"select {here}, {lanes} {vectors[at]}, {lanes} {chosen}")
    return (chosen,)


def _is_index(body: Body, index: Lanes, at: int) -> str:
    """The condition, with its type, that an index is this one."""
    if index.is_uniform:
        return f"i1 {body.code.value(f'icmp eq {index.type} {index.scalar}, {at}')}"
    lanes = body.code.lanes(index.type)
    number = splat(body.code, index.type, str(at))
    return f"{body.code.mask} {body.code.value(f'icmp eq {lanes} {body.vector(index)}, {number}')}"


def _insert(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    vectors, new = list(body.vectors(operands[0])), body.vector(operands[1])
    index = instruction.operands[2].integer
    if index is not None:
        vectors[index] = new
        return tuple(vectors)
    lanes = body.code.lanes(operands[1].type)
    return tuple(
        body.code.value(f"select {_is_index(body, operands[2], at)}, {lanes} {new}, {lanes} {old}")
        for at, old in enumerate(vectors)
    )


def _shuffle(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    assert isinstance(instruction, Shuffle)
    vectors = [vector for each in operands for vector in body.vectors(each)]
    return tuple("poison" if at < 0 else vectors[at] for at in instruction.mask)


def _range_of(body: Body, type_: Type, indices: Sequence[int]) -> tuple[int, int]:
    """Where the components of a part begin and end among those of the whole."""
    first = 0
    for index in indices:
        resolved = body.layout.resolved(type_)
        before = range(index)
        if isinstance(resolved, Struct):
            first += sum(len(body.components(resolved.members[each])) for each in before)
        else:
            first += index * len(body.components(body.layout.member(resolved, 0)[1]))
        type_ = body.layout.member(resolved, index)[1]
    return first, first + len(body.components(type_))


def _take(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    assert isinstance(instruction, Part)
    begin, end = _range_of(body, operands[0].type, instruction.indices)
    return body.vectors(operands[0])[begin:end]


def _put(body: Body, instruction: Instruction, operands: Sequence[Lanes]) -> tuple[str, ...]:
    assert isinstance(instruction, Part)
    begin, end = _range_of(body, operands[0].type, instruction.indices)
    whole = list(body.vectors(operands[0]))
    whole[begin:end] = body.vectors(operands[1])
    return tuple(whole)


def _recast(body: Body, of: Type, to: Sequence[Type], vectors: Sequence[str]) -> tuple[str, ...]:
    """The same bits in other elements: wider ones of several, narrower ones of each."""
    code, source, target = body.code, _bits(body, of), _bits(body, to[0])
    wide, narrow = code.lanes(f"i{target}"), code.lanes(f"i{source}")
    numbers = [_as(body, each, of, f"i{source}") for each in vectors]
    found = []
    for at in range(len(to)):
        if target > source:
            many = target // source
            parts = numbers[at * many : (at + 1) * many]
            whole = "zeroinitializer"
            for k, part in enumerate(parts):
                wider = code.value(f"zext {narrow} {part} to {wide}")
                moved = code.value(f"shl {wide} {wider}, splat (i{target} {k * source})")
                whole = code.value(f"or {wide} {whole}, {moved}")
        else:
            many = source // target
            shift = at % many * target
            moved = code.value(f"lshr {narrow} {numbers[at // many]}, splat (i{source} {shift})")
            whole = code.value(f"trunc {narrow} {moved} to {wide}")
        lanes = code.lanes(to[at])
        found.append(
            whole if isinstance(to[at], Int) else code.value(f"bitcast {wide} {whole} to {lanes}")
        )
    return tuple(found)


def _as(body: Body, vector: str, of: Type, number: str) -> str:
    if isinstance(of, Int):
        return vector
    return body.code.value(f"bitcast {body.code.lanes(of)} {vector} to {body.code.lanes(number)}")


def _bits(body: Body, type_: Type) -> int:
    if isinstance(type_, Int | Float) and type_ != BOOL:
        return type_.bits
    raise IrError(f"the bits of {type_} as other elements")
