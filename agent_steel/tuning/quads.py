"""Let a thread compute four neighbouring elements with one load and one store of each buffer.

Statements that depend on the element are repeated four times; loads of neighbouring elements become
one vector load before them, and stores one vector store behind them. Loops and branches that are
the same for all four elements stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agent_steel.tuning.edit import (
    SHARING,
    UNROLL,
    free_name,
    read_extent,
    with_dispatch,
    with_header_lines,
)
from agent_steel.tuning.syntax import (
    Assignment,
    Branch,
    CallStatement,
    ForLoop,
    KernelFunction,
    LocalVariable,
    NotPlainError,
    Return,
    Statement,
    Words,
    all_words,
    each_statement,
    find_accesses,
    is_multiple,
    map_accesses,
    names_in,
    read_function,
    replace_words,
    spell,
    split_offset,
    strip_parentheses,
    substitute,
    write_head,
    write_statements,
)
from metalbench.kernel.header import Dispatch, Kernel

ELEMENT = "at_"
FIRST = "first_"
CONDITIONAL = frozenset({"?", "&&", "||"})
COUNTS_1D = (256, 128, 64, 512, 1024)
COUNTS_X, COUNTS_Y = (32, 16, 8, 64), (4, 8, 1, 2, 16)


@dataclass(frozen=True)
class ElementThreads:
    """A kernel whose threads differ in one element each: `extent` of them along the first axis."""

    function: KernelFunction
    dispatch: Dispatch
    position: str
    position_type: str
    extent: Words
    sizes: frozenset[str]
    body: tuple[Statement, ...]


def read_lanes(kernel: Kernel) -> ElementThreads | None:  # noqa: PLR0911 - a return for each form that is refused
    """Return the kernel as threads along an axis; None if threads may depend on each other."""
    dispatch = kernel.plain_dispatch
    if dispatch is None or kernel.inouts or kernel.scratches:
        return None
    grid = dispatch.threads_in_grid
    function = read_function(kernel, dispatch)
    if grid is None or function is None or dispatch.threadgroup_bytes:
        return None
    if SHARING.search(function.text) or any(
        name.endswith("_") for name in re.findall(r"\b\w+\b", function.text)
    ):
        return None
    position = function.find_parameter("thread_position_in_grid")
    if position is None or sum(bool(each.attribute) for each in function.parameters) != 1:
        return None
    extent = read_extent(grid[0])
    kind = "uint" if len(grid) == 1 else f"uint{len(grid)}"
    if extent is None or position.element != kind or position.is_pointer:
        return None
    words = tuple(re.findall(r"\w+|\*", extent[0]))
    try:
        body = substitute(function.body, lambda each: _rename(each, position.name, kind))
    except NotPlainError:
        return None
    return ElementThreads(function, dispatch, position.name, kind, words, extent[1], body)


def _rename(words: Words, position: str, kind: str) -> Words:
    """Write the position along the first axis as ELEMENT."""
    found: list[str] = []
    index = 0
    while index < len(words):
        if words[index] == position and words[index - 1 : index] not in ((".",), ("::",)):
            if kind == "uint":
                found.append(ELEMENT)
            elif words[index + 1 : index + 3] == (".", "x"):
                found.append(ELEMENT)
                index += 2
            elif words[index + 1 : index + 2] == (".",) and words[index + 2] in ("y", "z"):
                found.append(position)
            else:
                raise NotPlainError
        else:
            found.append(words[index])
        index += 1
    return tuple(found)


def find_varying(body: Iterable[Statement], buffers: Iterable[str]) -> set[str]:
    """Return the variables that may differ between neighbouring elements."""
    statements = tuple(body)
    varying = {ELEMENT}
    while True:
        before = len(varying)
        _spread(statements, varying, is_varying=False)
        varying -= set(buffers)
        if len(varying) == before:
            return varying


def _spread(body: Iterable[Statement], varying: set[str], *, is_varying: bool) -> None:
    for each in body:
        if isinstance(each, LocalVariable):
            if is_varying or varying & names_in(each.value):
                varying.add(each.name)
        elif isinstance(each, Assignment):
            if is_varying or varying & names_in((*each.value, ";", *each.target)):
                varying.add(each.target[0])
        elif isinstance(each, ForLoop):
            within = is_varying or bool(varying & names_in((*each.test, ";", *each.start.value)))
            _spread((each.start, each.step, *each.body), varying, is_varying=within)
        elif isinstance(each, Branch):
            within = is_varying or bool(varying & names_in(each.test))
            _spread((*each.then, *each.other), varying, is_varying=within)


@dataclass
class QuadWriter:
    """Writes the body for four elements."""

    lanes: ElementThreads
    varying: set[str]
    needs_whole: bool = False
    vectors: int = 0
    _number: int = field(default=0)

    def write(self) -> str:
        """Return the statements; raise NotPlainError if four elements cannot be together."""
        names = self.lanes.function.buffers
        stored = {
            each.target[0]
            for each in each_statement(self.lanes.body)
            if isinstance(each, Assignment) and each.target[0] in names
        }
        for words in all_words(self.lanes.body):
            for name, index in find_accesses(words, names):
                # No element reads or stores what another one does: indices are equal modulo the
                # extent for the same element only.
                if name in stored and self._find_base(index) is None:
                    raise NotPlainError
        text = self._statements(self.lanes.body, "  ")
        if not self.vectors or self.vectors < self._count_scattered():
            raise NotPlainError
        return text

    def _count_scattered(self) -> int:
        """Count loads that depend on the element and are not of neighbours."""
        found = {
            (name, index)
            for words in all_words(self.lanes.body)
            for name, index in find_accesses(words, self.lanes.function.buffers)
            if ELEMENT in names_in(index) and self._find_base(index) is None
        }
        return len(found)

    def _statements(self, body: Iterable[Statement], indent: str) -> str:
        text = ""
        group: list[Statement] = []
        for each in body:
            if self._is_simple(each):
                group.append(each)
                continue
            text += self._group(group, indent)
            group = []
            text += self._other(each, indent)
        return text + self._group(group, indent)

    def _is_simple(self, each: Statement) -> bool:  # noqa: PLR0911 - a return for each form that is refused
        """Return whether a statement is repeated for each element."""
        if isinstance(each, LocalVariable):
            if each.extent or each.space:
                raise NotPlainError
            return each.name in self.varying
        if isinstance(each, Assignment):
            if each.target[0] in self.lanes.function.buffers:
                if ELEMENT not in each.target:
                    raise NotPlainError
                return True
            return each.target[0] in self.varying
        if isinstance(each, Branch):
            # The grid has no element beyond its extent.
            if strip_parentheses(each.test) == (ELEMENT, ">=", *self.lanes.extent):
                return each.then != (Return(),) or bool(each.other)
            return bool(self.varying & names_in(each.test))
        if isinstance(each, ForLoop):
            return bool(self.varying & names_in((*each.test, ";", *each.start.value)))
        return False

    def _other(self, each: Statement, indent: str) -> str:
        """Write a statement that is the same for all four elements."""
        if isinstance(each, ForLoop):
            head = f"{write_head(each.start)}; {spell(each.test)}; {spell(each.step.target)} "
            head += f"{each.step.operator} {spell(each.step.value)}"
            inner = self._statements(each.body, indent + "  ")
            return f"{indent}for ({head}) {{\n{inner}{indent}}}\n"
        if isinstance(each, Branch):
            test = replace_words(each.test, {ELEMENT: (FIRST,)})
            inner = self._statements(each.then, indent + "  ")
            text = f"{indent}if ({spell(test)}) {{\n{inner}{indent}}}"
            if each.other:
                text += f" else {{\n{self._statements(each.other, indent + '  ')}{indent}}}"
            return f"{text}\n"
        if isinstance(each, CallStatement):
            raise NotPlainError
        return write_statements([each], indent)

    def _group(self, group: list[Statement], indent: str) -> str:
        """Write statements once for each of the four elements."""
        if not group:
            return ""
        inner_statements = list(each_statement(group))
        if any(isinstance(each, (Return, CallStatement)) for each in inner_statements):
            raise NotPlainError
        buffers = self.lanes.function.buffers
        declared = [each for each in group if isinstance(each, LocalVariable)]
        known: dict[tuple[str, Words], str] = {}
        text = "".join(f"{indent}{each.type} {each.name}[4];\n" for each in declared)
        stores = self._vector_stores(group)
        for name, index, base in self._vector_loads(group):
            variable = self._name(name)
            known[name, index] = variable
            self.vectors += 1
            const = "" if (name, index) in stores else "const "
            text += f"{indent}{const}{self._vector(name)} {variable} = "
            text += f"{self._place(name, base, is_store=False)};\n"
        for name, index in stores:
            if (name, index) not in known:
                known[name, index] = self._name(name)
                text += f"{indent}{self._vector(name)} {known[name, index]};\n"

        def change(name: str, index: Words) -> Words:
            if (name, index) in known:
                return (known[name, index], "[", "k_", "]")
            return (name, "[", *index, "]")

        body: list[Statement] = [
            Assignment((each.name,), "=", each.value) if isinstance(each, LocalVariable) else each
            for each in group
            if not isinstance(each, LocalVariable) or each.value
        ]
        body = list(substitute(body, lambda words: map_accesses(words, buffers, change)))
        local = {
            each.name
            for each in each_statement(
                each for each in group if not isinstance(each, LocalVariable)
            )
            if isinstance(each, LocalVariable)
        }
        arrays = {name: (name, "[", "k_", "]") for name in self.varying - {ELEMENT} - local}
        body = list(substitute(body, lambda words: replace_words(words, arrays)))
        head = ""
        if any(ELEMENT in names_in(words) for words in all_words(body)):
            head = f"{indent}  const uint {ELEMENT} = {FIRST} + k_;\n"
        inner = write_statements(body, indent + "  ")
        text += f"{indent}{UNROLL}{indent}for (uint k_ = 0; k_ < 4; ++k_) {{\n{head}{inner}"
        text += f"{indent}}}\n"
        for (name, index), base in stores.items():
            text += f"{indent}{self._place(name, base, is_store=True)} = {known[name, index]};\n"
        return text

    def _name(self, buffer: str) -> str:
        self._number += 1
        return f"{buffer}_{self._number}_"

    def _vector(self, buffer: str) -> str:
        return f"vec<{self.lanes.function.buffers[buffer].element}, 4>"

    def _place(self, buffer: str, base: Words, *, is_store: bool) -> str:
        words = self.lanes.function.buffers[buffer].text.split()
        space = "constant " if "constant" in words else "device "
        if space == "device " and not is_store and self.lanes.function.buffers[buffer].is_const:
            space += "const "
        index = f"({spell(base)} + {FIRST})" if base else FIRST
        return f"*({space}{self._vector(buffer)}*)({buffer} + {index})"

    def _find_base(self, index: Words) -> Words | None:
        """Return the terms of an index without the element, if it begins a vector."""
        terms = split_offset(index, ELEMENT)
        if terms is None or any(self.varying & names_in(each) for each in terms):
            return None
        if not all(is_multiple(each, self.lanes.extent) for each in terms):
            return None
        self.needs_whole |= bool(terms)
        found: list[str] = []
        for each in terms:
            found += [*(["+"] if found else []), *each]
        return tuple(found)

    def _vector_loads(self, group: list[Statement]) -> Iterator[tuple[str, Words, Words]]:
        seen: set[tuple[str, Words]] = set()
        for each in group:
            if isinstance(each, (Branch, ForLoop)):
                continue
            words = [each.value] if isinstance(each, (LocalVariable, Assignment)) else []
            if isinstance(each, Assignment) and each.operator != "=" and len(each.target) > 1:
                words.append(each.target)
            for several in words:
                for name, index in find_accesses(several, self.lanes.function.buffers):
                    if CONDITIONAL & set(several[: _position(several, name, index)]):
                        continue
                    base = self._find_base(index)
                    if base is not None and (name, index) not in seen:
                        seen.add((name, index))
                        yield name, index, base

    def _vector_stores(self, group: list[Statement]) -> dict[tuple[str, Words], Words]:
        found: dict[tuple[str, Words], Words] = {}
        for each in group:
            if isinstance(each, Assignment) and each.target[0] in self.lanes.function.buffers:
                index = each.target[2:-1]
                base = self._find_base(index)
                if base is not None:
                    found[each.target[0], index] = base
        return found


def _position(words: Words, name: str, index: Words) -> int:
    """Return where an access begins in an expression."""
    part = (name, "[", *index, "]")
    return next(i for i in range(len(words)) if words[i : i + len(part)] == part)


class VectorLoads:
    """Threads of one element each compute four, with vector loads and stores."""

    technique = "vector loads"
    summary = (
        "Each thread loads, computes and stores four neighbouring elements as one vector. Where "
        "rows are not whole vectors it does them one by one. Buffers begin at an address that "
        "vectors may have."
    )
    needs = (
        "independent threads, one for each element along the first axis of the grid, some of whose "
        "buffers are indexed by that element plus multiples of the number of elements"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with four elements for each thread."""
        lanes = read_lanes(kernel)
        if lanes is None:
            return
        writer = QuadWriter(lanes, find_varying(lanes.body, lanes.function.buffers))
        try:
            body = writer.write()
        except NotPlainError:
            return
        yield _write_kernel(kernel, lanes, body, needs_whole=writer.needs_whole)


def _write_kernel(kernel: Kernel, lanes: ElementThreads, body: str, *, needs_whole: bool) -> str:
    function = lanes.function
    name, position, kind = function.name, lanes.position, lanes.position_type
    taken = [each for each in function.parameters if each.name != position]
    known = {each.name for each in taken}
    sizes = [f"constant uint& {each}" for each in sorted(lanes.sizes - known)]
    plain = ", ".join(each.text for each in taken)
    names = "".join(f"{each.name}, " for each in taken)
    extent = spell(lanes.extent)
    opening = len(function.head)
    one = f"inline void {name}_one({plain}, {kind} {position}) {function.text[opening:]}\n\n"
    others = "".join(f", {position}.{axis}" for axis in "yz"[: len(kind[4:]) and int(kind[4:]) - 1])
    four_type = f"uint {FIRST}" if kind == "uint" else f"uint {FIRST}, {kind} {position}"
    four = f"inline void {name}_four({plain}, {four_type}) {{\n{body}}}\n\n"
    first = "first_" if kind == "uint" else f"first_, {position}"
    element = "at_" if kind == "uint" else f"{kind}(at_{others})"
    along = "quad_" if kind == "uint" else f"{position}.x"
    # Rows of whole quads have no quad with fewer elements, so that all threads do the same.
    whole = "count_ % 4 == 0" if needs_whole else "first_ + 3 < count_"
    entry = (
        f"[[kernel]] void {name}({', '.join([*(each.text for each in taken), *sizes])}, "
        f"{kind} {'quad_' if kind == 'uint' else position} [[thread_position_in_grid]]) {{\n"
        f"  const uint first_ = 4 * {along};\n"
        f"  const uint count_ = {extent};\n"
        f"  if ({whole}) {{\n"
        f"    {name}_four({names}{first});\n"
        "    return;\n"
        "  }\n"
        f"  for (uint at_ = first_; at_ < min(first_ + 4, count_); ++at_) {{\n"
        f"    {name}_one({names}{element});\n"
        "  }\n"
        "}"
    )
    source = kernel.source[: function.begin] + one + four + entry + kernel.source[function.end :]
    grid = lanes.dispatch.threads_in_grid
    assert grid is not None
    axes = ", ".join([f"ceil_div({extent}, 4)", *(str(each) for each in grid[1:])])
    lines, threads = _threads(kernel, lanes.dispatch)
    source = with_dispatch(source, name, f"threads_in_grid=({axes})  threads=({threads})")
    return with_header_lines(source, lines)


def _threads(kernel: Kernel, dispatch: Dispatch) -> tuple[list[str], str]:
    """Return header lines for the number of threads, and the number itself."""
    given = [str(each).strip() for each in dispatch.threads]
    if not all(each.isdecimal() for each in given):
        return [], ", ".join(given)
    if len(given) == 1:
        name = free_name(kernel, "THREADS")
        counts = ", ".join(map(str, dict.fromkeys((*COUNTS_1D, int(given[0])))))
        return [f"// tune: {name} = {counts}"], name
    across, down = free_name(kernel, "ACROSS"), free_name(kernel, "DOWN")
    values_x = ", ".join(map(str, dict.fromkeys((int(given[0]), *COUNTS_X))))
    values_y = ", ".join(map(str, dict.fromkeys((int(given[1]), *COUNTS_Y))))
    rest = given[2:]
    product = " * ".join([across, down, *rest])
    return [
        f"// tune: {across} = {values_x}",
        f"// tune: {down} = {values_y}",
        f"// limits: {product} <= 1024",
    ], ", ".join([across, down, *rest])
