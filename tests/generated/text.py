"""Programs as MSL."""

from __future__ import annotations

from generated import syntax as s
from generated.text_of_terms import text

OPERATIONS = ("add", "min", "max", "and", "or", "xor")
CELLS = 37  # in device memory, for each atomic operation
# Where a thread's own elements are, and those of `who` in a threadgroup array.
OUTPUT_PLACES = {
    "rows": "i * {slots} + (slot)",
    "columns": "(slot) * total + i",
    "reversed": "(slot) * total + (total - 1 - i)",
    "permuted": "order[i] * {slots} + (slot)",
    "scattered": "(slot) * total + order[i]",
}
SHARED_PLACES = {
    "same": "(who)",
    "reversed": "count - 1 - (who)",
    "apart": "2 * (who) + 1",
    "padded": "(who) + (who) / 32",
}
SHARED_CAPACITY = {"same": 1024, "reversed": 1024, "apart": 2048, "padded": 1056}
_PLACES = """
    uint i [[thread_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
    uint count [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]],"""
_PLACES_IN_SPACE = """
    uint3 at [[thread_position_in_grid]], uint3 inside [[thread_position_in_threadgroup]],
    uint tid [[thread_index_in_threadgroup]], uint3 size [[threads_per_threadgroup]],
    uint3 in_groups [[threadgroup_position_in_grid]], uint3 grid [[threads_per_grid]],"""
_OF_A_LINE = "  const uint x = tid, y = 0, z = 0;\n"
_IN_SPACE = """\
  const uint i = (at.z * grid.y + at.y) * grid.x + at.x, count = size.x * size.y * size.z;
  const uint x = inside.x, y = inside.y, z = inside.z;
  const uint group = in_groups.x + 3 * in_groups.y + 5 * in_groups.z;
"""
_RELAXED = "memory_order_relaxed"


def source(program: s.Program) -> str:
    """The file that is compiled."""
    parameters = [f"device const {each.type}* {each.name}" for each in program.inputs]
    parameters += [f"device {each.type}* {each.name}" for each in program.outputs]
    parameters += ["device const uint* order", "device atomic_uint* cells", "constant uint& total"]
    if any(isinstance(each, s.Fetch) for each in s.every(program)):
        parameters.append("device atomic_uint* mine")
    flat = program.grid[1:] == (1, 1) and program.threads[1:] == (1, 1)
    return f"""#include <metal_stdlib>
using namespace metal;
{"".join(_macro(each) for each in (*program.outputs, *program.shared))}\
{"".join(_struct(each) for each in program.structs)}\
{"".join(_function(each) for each in program.functions)}\
kernel void generated({", ".join(parameters)},{_PLACES if flat else _PLACES_IN_SPACE}
    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {{
{_OF_A_LINE if flat else _IN_SPACE}{"".join(_threadgroup(each) for each in program.shared)}\
{_cleared(program)}{_lines(program.body)}}}
"""


def _macro(array: s.Output | s.Shared) -> str:
    if isinstance(array, s.Output):
        place = OUTPUT_PLACES[array.order].format(slots=array.slots)
        return f"#define {array.name.upper()}(slot) {array.name}[{place}]\n"
    return f"#define {array.name.upper()}(who) {array.name}[{SHARED_PLACES[array.order]}]\n"


def _threadgroup(array: s.Shared) -> str:
    return f"  threadgroup {array.type} {array.name}[{SHARED_CAPACITY[array.order]}];\n"


def _cleared(program: s.Program) -> str:
    """Clear arrays before threads may return, because others read them."""
    if not any(isinstance(each, s.Return) for part in program.body for each in s.every(part)):
        return ""
    own = [f"{each.name.upper()}(tid) = 0;" for each in program.shared]
    return f"  {' '.join(own)}\n  {_BARRIER}" if own else ""


def _struct(struct: s.Struct) -> str:
    members = " ".join(f"{kind} {name};" for name, kind in struct.members)
    return f"struct {struct.name} {{ {members} }};\n"


def _function(function: s.Function) -> str:
    parameters = [f"{kind} {name}" for name, kind in function.parameters]
    copies = ""
    for each in function.arrays:
        parameters.append(
            f"{each.type} {each.name}_" if each.copied else f"thread {each.type}* {each.name}"
        )
        if each.copied:
            copies += f"  {each.type} {each.name}[1] = {{{each.name}_}};\n"
    if function.reads:
        parameters += [
            "uint i",
            *(f"device const {each.type}* {each.name}" for each in function.reads),
        ]
    attribute = "" if function.inlined else "__attribute__((noinline)) "
    head = f"static {attribute}{function.type} {function.name}({', '.join(parameters)})"
    body = copies + _lines(function.body)
    return f"{head} {{\n{body}  return {text(function.result)};\n}}\n"


def _lines(block: s.Block, depth: int = 1) -> str:
    lines = [line for each in block for line in text(each).splitlines()]
    return "".join(f"{'  ' * depth}{line}\n" for line in lines)


@text.register
def _(node: s.Declare) -> str:
    return f"{node.value.type} {node.name} = {text(node.value)};"


@text.register
def _(node: s.DeclareArray) -> str:
    return f"{node.type} {node.name}[{node.size}] = {{}};"


@text.register
def _(node: s.Assign) -> str:
    return f"{text(node.target)} = {text(node.value)};"


@text.register
def _(node: s.Copy) -> str:
    return f"{node.array}[{text(node.target)}] = {node.array}[{text(node.source)}];"


@text.register
def _(node: s.If) -> str:
    otherwise = f" else {{\n{_lines(node.no)}}}" if node.no else ""
    return f"if ({text(node.condition)}) {{\n{_lines(node.yes)}}}{otherwise}"


@text.register
def _(node: s.For) -> str:
    kind, name, limit = node.type, node.counter, text(node.limit)
    head = f"{kind} {name} = 0; {name} < {limit}; ++{name}"
    if node.down:
        head = f"{kind} {name} = {limit}; {name}-- > 0;"
    return f"for ({head}) {{\n{_lines(node.body)}}}"


@text.register
def _(node: s.While) -> str:
    head = f"uint {node.counter} = 0;\n"
    turns = f"{node.counter}++ < {node.turns}u && {text(node.condition)}"
    if node.after:
        return f"{head}do {{\n{_lines(node.body)}}} while ({turns});"
    return f"{head}while ({turns}) {{\n{_lines(node.body)}}}"


@text.register
def _(node: s.Switch) -> str:
    lines = ""
    for case in node.cases:
        labels = " ".join(f"case {label}:" for label in case.labels) or "default:"
        end = "" if case.falls else "  break;\n"
        lines += f"{labels} {{\n{_lines(case.body)}{end}}}\n"
    return f"switch ({text(node.value)}) {{\n{lines}}}"


@text.register
def _(node: s.Break) -> str:
    return "break;"


@text.register
def _(node: s.Continue) -> str:
    return "continue;"


@text.register
def _(node: s.Return) -> str:
    return f"return {text(node.value)};" if node.value is not None else "return;"


@text.register
def _(node: s.Fence) -> str:
    return "simdgroup_barrier(mem_flags::mem_none);"


def _update(place: str, operation: str, value: s.Expression) -> str:
    return f"atomic_fetch_{operation}_explicit({place}, {text(value)}, {_RELAXED});"


@text.register
def _(node: s.AtomicUpdate) -> str:
    first = OPERATIONS.index(node.operation) * CELLS
    return _update(f"&cells[{first} + {text(node.index)} % {CELLS}]", node.operation, node.value)


@text.register
def _(node: s.SharedUpdate) -> str:
    place = f"(threadgroup atomic_uint*)&{node.array.upper()}(({text(node.index)}) % count)"
    return _update(place, node.operation, node.value)


@text.register
def _(node: s.Fetch) -> str:
    name = "exchange" if node.operation == "exchange" else f"fetch_{node.operation}"
    return f"uint {node.name} = atomic_{name}_explicit(&mine[i], {text(node.value)}, {_RELAXED});"


_BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"


@text.register
def _(node: s.Exchange) -> str:
    return f"{{\n{_lines(node.writes)}  {_BARRIER}{_lines(node.reads)}  {_BARRIER}}}"


@text.register
def _(node: s.Tally) -> str:
    first = f"  {node.array.upper()}(tid) = 5u;\n  {_BARRIER}"
    return f"{{\n{first}{_lines(node.updates)}  {_BARRIER}{_lines(node.reads)}  {_BARRIER}}}"
