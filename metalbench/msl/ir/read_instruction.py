"""Instructions, read from the lines in which clang writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    CallInstruction,
    Compare,
    ElementPointer,
    Instruction,
    Memory,
    Part,
    Phi,
    Shuffle,
    Terminator,
    Value,
    field_names,
    lazy_instruction,
)
from metalbench.msl.ir.operands import read_typed_value, take_attributes, take_flags
from metalbench.msl.ir.text import IrError, closing, split
from metalbench.msl.ir.types import BOOL, Struct, Type, Vector, take_type, type_of

_BINARY = (
    *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"),
    *("and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg"),
)
_CAST = (
    *("zext", "sext", "trunc", "bitcast", "fptoui", "fptosi", "uitofp", "sitofp"),
    *("fpext", "fptrunc", "ptrtoint", "inttoptr", "addrspacecast"),
)
_RESULT = re.compile(r'(%"[^"]*"|%[\w.$-]+) = ')
_ATTACHED = re.compile(
    r',\s*!(?P<what>"[^"]*"|[\w.]+)\s+(?P<which>!(?:\d+|\{[^}]*\}|DI\w+\([^)]*\)))'
)
_CONVENTION = re.compile(r"(?:fastcc|ccc|coldcc|preserve_\w+cc)\s+")
_LABEL = re.compile(r'label (%"[^"]*"|%[\w.$-]+)')
_CASE = re.compile(r'i\d+ (-?\d+|true|false), label (%"[^"]*"|%[\w.$-]+)')
_CALLEE = re.compile(r'(@"[^"]*"|@[\w.$-]+|%[\w.$-]+|asm[^"]*"(?:[^"\\]|\\.)*", "[^"]*")(?=\()')
_CONSTANT = re.compile(r"null|undef|poison|[a-z]+ (?:[a-z]+ )*(?P<open>\()")
_ALIGN = re.compile(r"align (\d+)")
_SCOPE = re.compile(r'syncscope\("([^"]*)"\)\s*')
_MASK_ITEM = re.compile(r"i32 (-?\d+|poison|undef)")


def read_instruction(line: str) -> Instruction:
    """Return the instruction on a line, without its text. Raises IrError."""
    instruction = lazy_instruction(line)
    read_fields(instruction)
    instruction.text = ""
    return instruction


@lru_cache(4096)
def read_constant(text: str) -> Instruction | None:
    """Return a constant expression as the instruction that it is written like; None for others.

    Such as `getelementptr (i8, ptr @x, i64 4)` or `addrspacecast (ptr addrspace(3) @x to ptr)`.
    """
    made = unfold_constant(text, "%_")
    if made is not None:
        read_fields(made)
    return made


def unfold_constant(text: str, result: str) -> Instruction | None:
    """Return an instruction that computes a constant expression; None for other constants."""
    head, parenthesis, rest = text.partition(" (")
    if not parenthesis or head.partition(" ")[0] not in _READERS:
        return None
    return lazy_instruction(f"  {result} = {head} {rest[:-1]}")


def read_fields(instruction: Instruction) -> None:
    """Set all fields of an instruction from its text. Raises IrError."""
    made = _read_line(instruction.text)
    if isinstance(made, Part) and made.opcode == "extractvalue" and instruction.layout is not None:
        for index in made.indices:
            made.type = instruction.layout.member(made.type, index)[1]
    for name in field_names(type(instruction)):
        setattr(instruction, name, getattr(made, name))


def _read_line(line: str) -> Instruction:
    text, place, loop = line.strip(), "", ""
    attachments = text.find(", !")
    if attachments >= 0:
        place, loop = _read_attachments(text[attachments:])
        text = text[:attachments]
    result, rest = "", text
    if found := _RESULT.match(text):
        result, rest = found[1], text[found.end() :]
    opcode, _, rest = rest.partition(" ")
    if opcode in ("tail", "musttail", "notail"):
        opcode, _, rest = rest.partition(" ")
    try:
        instruction = _reader(opcode)(opcode, rest.strip())
    except (IrError, ValueError, IndexError) as error:
        raise IrError(f"{error} in {line.strip()!r}") from error
    instruction.result, instruction.place = result, place
    if isinstance(instruction, Terminator):
        instruction.loop = loop
    return instruction


@lru_cache(4096)
def _read_attachments(text: str) -> tuple[str, str]:
    """Return the references `!dbg` and `!llvm.loop` after an instruction; "" if missing."""
    found = dict(_ATTACHED.findall(text))
    return found.get("dbg", ""), found.get("llvm.loop", "")


def _binary(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    type_, rest = take_type(text)
    operands = tuple(Value(type_, each) for each in split(rest))
    return Instruction(opcode=opcode, type=type_, operands=operands, flags=flags)


def _cast(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    operand, _, to = text.rpartition(" to ")
    return Instruction(
        opcode=opcode, type=type_of(to), operands=(read_typed_value(operand),), flags=flags
    )


def _compare(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    predicate, _, text = text.partition(" ")
    type_, rest = take_type(text)
    left, right = split(rest)
    operands = Value(type_, left), Value(type_, right)
    truth: Type = Vector(type_.count, BOOL) if isinstance(type_, Vector) else BOOL
    return Compare(opcode=opcode, type=truth, operands=operands, flags=flags, predicate=predicate)


def _select(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    condition, yes, no = map(read_typed_value, split(text))
    return Instruction(opcode=opcode, type=yes.type, operands=(condition, yes, no), flags=flags)


def _freeze(opcode: str, text: str) -> Instruction:
    value = read_typed_value(text)
    return Instruction(opcode=opcode, type=value.type, operands=(value,))


def _element_pointer(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    element, *operands = split(text)
    values = tuple(map(read_typed_value, operands))
    return ElementPointer(
        opcode=opcode, type=values[0].type, operands=values, flags=flags, element=type_of(element)
    )


def _phi(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    type_, rest = take_type(text)
    pairs = [split(each[1:-1]) for each in split(rest)]
    return Phi(
        opcode=opcode,
        type=type_,
        operands=tuple(Value(type_, value) for value, _ in pairs),
        flags=flags,
        sources=tuple(block for _, block in pairs),
    )


def _branch(opcode: str, text: str) -> Instruction:
    condition = () if text.startswith("label") else (read_typed_value(split(text)[0]),)
    return Terminator(opcode=opcode, operands=condition, targets=tuple(_LABEL.findall(text)))


def _switch(opcode: str, text: str) -> Instruction:
    head, _, table = text.partition("[")
    cases = _CASE.findall(table)
    numbers = tuple(
        number for each, _ in cases if (number := Value(BOOL, each).integer) is not None
    )
    default = _LABEL.findall(head)
    return Terminator(
        opcode=opcode,
        operands=(read_typed_value(split(head)[0]),),
        targets=(*default, *(target for _, target in cases)),
        cases=numbers,
    )


def _return(opcode: str, text: str) -> Instruction:
    operands = () if text in ("", "void") else (read_typed_value(text),)
    return Terminator(opcode=opcode, operands=operands)


def _call(opcode: str, text: str) -> Instruction:
    flags, text = take_flags(text)
    convention = _CONVENTION.match(text)
    before = convention[0] if convention else ""
    attributes, text = take_attributes(text[len(before) :])
    type_, text = take_type(text)
    if text.startswith("("):  # the type of a variadic function, in whole
        text = text[closing(text, 0) + 1 :].strip()
    callee = _take_callee(text)
    end = closing(text, len(callee))
    operands, parameters = [], []
    for each in split(text[len(callee) + 1 : end]):
        operand_type, rest = take_type(each)
        of_parameter, value = take_attributes(rest)
        operands.append(Value(operand_type, value.strip()))
        parameters.append(of_parameter)
    return CallInstruction(
        opcode=opcode,
        type=type_,
        operands=tuple(operands),
        flags=flags,
        callee=callee,
        before=f"{before}{attributes}".strip(),
        attributes=text[end + 1 :].strip(),
        parameters=tuple(parameters),
    )


def _take_callee(text: str) -> str:
    """Return what a call calls: a name, a local value, assembly or a constant. Raises IrError."""
    if callee := _CALLEE.match(text):
        return callee[1]
    constant = _CONSTANT.match(text)
    if constant is None:
        raise IrError("no function")
    end = constant.end()
    if constant["open"]:
        end = closing(text, end - 1) + 1
    if text[end : end + 1] != "(":
        raise IrError("no function")
    return text[:end]


def _extract_element(opcode: str, text: str) -> Instruction:
    vector, index = map(read_typed_value, split(text))
    if not isinstance(vector.type, Vector):
        raise IrError(f"{vector.type} is not a vector")
    return Instruction(opcode=opcode, type=vector.type.element, operands=(vector, index))


def _insert_element(opcode: str, text: str) -> Instruction:
    vector, element, index = map(read_typed_value, split(text))
    return Instruction(opcode=opcode, type=vector.type, operands=(vector, element, index))


def _shuffle(opcode: str, text: str) -> Instruction:
    first, second, mask = split(text)
    one, other = read_typed_value(first), read_typed_value(second)
    mask_type, chosen = take_type(mask)
    if not isinstance(mask_type, Vector) or not isinstance(one.type, Vector):
        raise IrError("no vector")
    if chosen.startswith("<"):
        items = [-1 if each[0] in "pu" else int(each) for each in _MASK_ITEM.findall(chosen)]
    else:
        splat = _MASK_ITEM.search(chosen)
        items = [int(splat[1]) if splat and splat[1][0] not in "pu" else 0] * mask_type.count
        items = [-1] * mask_type.count if chosen in ("poison", "undef") else items
    type_ = Vector(mask_type.count, one.type.element)
    return Shuffle(opcode=opcode, type=type_, operands=(one, other), mask=tuple(items))


def _part(opcode: str, text: str) -> Instruction:
    items = split(text)
    values = tuple(map(read_typed_value, items[: 1 if opcode == "extractvalue" else 2]))
    indices = tuple(map(int, items[len(values) :]))
    # Of extractvalue the reader of functions knows, who knows what structs are named.
    return Part(opcode=opcode, type=values[0].type, operands=values, indices=indices)


def _memory(opcode: str, text: str) -> Instruction:
    """`load` and `store`."""
    words = []
    while text.startswith(("atomic ", "volatile ")):
        word, _, text = text.partition(" ")
        words.append(word)
    first, second, *rest = split(text)
    ordering = ""
    if "atomic" in words:
        second, _, ordering = _SCOPE.sub("", second).rpartition(" ")
    address = read_typed_value(second)
    stored = () if opcode == "load" else (read_typed_value(first),)
    memory = Memory(
        opcode=opcode,
        operands=(*stored, address),
        alignment=_alignment(rest),
        volatile="volatile" in words,
        ordering=ordering,
    )
    if opcode == "load":
        memory.type = type_of(first)
    return memory


def _alloca(opcode: str, text: str) -> Instruction:
    """`alloca`."""
    allocated, *rest = split(text)
    counts = [each for each in rest if not each.startswith(("align", "addrspace"))]
    return Alloca(
        opcode=opcode,
        type=type_of("ptr"),
        allocated=type_of(allocated),
        alignment=_alignment(rest),
        count=read_typed_value(counts[0]) if counts else None,
    )


def _atomic(opcode: str, text: str) -> Instruction:
    """`atomicrmw`, `cmpxchg`, `fence`."""
    words = []
    while text.startswith(("weak ", "volatile ")):
        word, _, text = text.partition(" ")
        words.append(word)
    scope = _SCOPE.search(text)
    text = _SCOPE.sub("", text)
    operation = ""
    if opcode == "atomicrmw":
        operation, _, text = text.partition(" ")
    items = split(text)
    aligned = [each for each in items if each.startswith("align")]
    operands = [each for each in items if not each.startswith("align")]
    orderings: tuple[str, ...] = ()
    if opcode == "fence":
        orderings, operands = (operands[0],), []
    else:
        head, value, *ordering = operands[-1].split()
        orderings, operands[-1] = tuple(ordering), f"{head} {value}"
    values = tuple(map(read_typed_value, operands))
    instruction = Atomic(
        opcode=opcode,
        operands=values,
        operation=operation,
        orderings=orderings,
        volatile="volatile" in words,
        weak="weak" in words,
        alignment=_alignment(aligned, 0),
        scope=scope[1] if scope else "",
    )
    if opcode == "atomicrmw":
        instruction.type = values[1].type
    elif opcode == "cmpxchg":
        instruction.type = Struct((values[2].type, BOOL))
    return instruction


def _alignment(parts: list[str], default: int = 1) -> int:
    return next((int(found[1]) for each in parts if (found := _ALIGN.match(each))), default)


_READERS: dict[str, Callable[[str, str], Instruction]] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_CAST, _cast),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    **dict.fromkeys(("load", "store"), _memory),
    **dict.fromkeys(("ret", "unreachable"), _return),
    **dict.fromkeys(("extractvalue", "insertvalue"), _part),
    **dict.fromkeys(("atomicrmw", "cmpxchg", "fence"), _atomic),
    "select": _select,
    "freeze": _freeze,
    "getelementptr": _element_pointer,
    "alloca": _alloca,
    "phi": _phi,
    "br": _branch,
    "switch": _switch,
    "call": _call,
    "extractelement": _extract_element,
    "insertelement": _insert_element,
    "shufflevector": _shuffle,
}


def _reader(opcode: str) -> Callable[[str, str], Instruction]:
    if opcode not in _READERS:
        raise IrError(f"an instruction that is not known here: {opcode!r}")
    return _READERS[opcode]
