"""Expressions as MSL."""

from __future__ import annotations

from functools import singledispatch

from generated import syntax as s
from generated.kinds import INTEGERS, is_float, width_of, wrapping


@singledispatch
def text(node: s.Node) -> str:
    """An expression, which may stand as an operand, or a statement."""
    raise TypeError(type(node).__name__)


@text.register
def _(node: s.Literal) -> str:
    if node.type == "bool":
        return "true" if node.value else "false"
    if node.type == "uint":
        return f"{int(node.value)}u"
    if is_float(node.type):
        return f"{node.type}({float(node.value)!r}f)"
    return (
        str(int(node.value))
        if node.type == "int" and node.value >= 0
        else (f"{node.type}({int(node.value)})")
    )


@text.register
def _(node: s.Name) -> str:
    return node.name


@text.register
def _(node: s.Unary) -> str:
    inner = text(node.operand)
    if node.operator == "-" and node.type in INTEGERS:
        return f"{node.type}({wrapping(node.type)}(0) - {wrapping(node.type)}({inner}))"
    return f"{node.type}({node.operator}{inner})"


@text.register
def _(node: s.Binary) -> str:
    left, right, kind = text(node.left), text(node.right), node.type
    if node.plain or kind == "uint" or width_of(kind) > 1 or kind == "float":
        return f"({left} {node.operator} {right})"
    if kind in INTEGERS and node.operator in ("+", "-", "*", "<<"):
        wide = wrapping(kind)
        return f"{kind}({wide}({left}) {node.operator} {wide}({right}))"
    return f"{kind}({left} {node.operator} {right})"


@text.register
def _(node: s.Below) -> str:
    return f"({text(node.operand)} % {node.size}u)"


@text.register(s.Compare)
@text.register(s.Logic)
def _(node: s.Compare | s.Logic) -> str:
    return f"({text(node.left)} {node.operator} {text(node.right)})"


@text.register
def _(node: s.Cast) -> str:
    return f"{node.type}({text(node.operand)})"


@text.register
def _(node: s.Recast) -> str:
    return f"as_type<{node.type}>({text(node.operand)})"


@text.register
def _(node: s.Choice) -> str:
    return f"({text(node.condition)} ? {text(node.yes)} : {text(node.no)})"


def _call(name: str, operands: list[s.Expression]) -> str:
    return f"{name}({', '.join(text(each) for each in operands)})"


@text.register
def _(node: s.Builtin) -> str:
    return _call(node.function, node.operands)


@text.register
def _(node: s.UserCall) -> str:
    inside = [*map(text, node.operands), *map(text, node.arrays), *node.reads]
    return f"{node.function}({', '.join(inside)})"


@text.register
def _(node: s.Given) -> str:
    address = "" if node.copied else "&"
    return f"{address}{node.array}[({text(node.index)}) % {node.choices}u]"


@text.register
def _(node: s.Swizzle) -> str:
    return f"{text(node.vector)}.{node.letters}"


@text.register
def _(node: s.Together) -> str:
    call = _call(node.function, node.operands)
    part, _, rest = node.function.partition("_")
    if rest in ("ballot", "active_threads_mask"):
        return f"uint(({part}_vote::vote_t){call})"
    return call


@text.register
def _(node: s.Make) -> str:
    return _call(node.type, node.parts)


@text.register
def _(node: s.Component) -> str:
    if isinstance(node.index, s.Literal):
        return f"{text(node.vector)}.{'xyzw'[int(node.index.value)]}"
    return f"{text(node.vector)}[{text(node.index)}]"


@text.register
def _(node: s.Load) -> str:
    return f"{node.type}({node.buffer}[{text(node.index)}])"


@text.register
def _(node: s.OwnOutput) -> str:
    return f"{node.buffer.upper()}({node.slot})"


@text.register
def _(node: s.Element) -> str:
    if node.byte:
        return f"((thread uchar*){node.array})[{text(node.index)}]"
    member = f".{node.member}" if node.member else ""
    return f"{node.array}[{text(node.index)}]{member}"


@text.register
def _(node: s.Either) -> str:
    chosen = f"({text(node.condition)} ? &{node.yes}[0] : &{node.no}[0])"
    return f"{chosen}[{text(node.index)}]"


@text.register
def _(node: s.OwnShared) -> str:
    return f"{node.array.upper()}(tid)"


@text.register
def _(node: s.AnyShared) -> str:
    return f"{node.array.upper()}(({text(node.index)}) % count)"
