"""Let several threads share a row that one thread goes through: strided loops and reductions.

A row form (`row_form.py`) is written again with SIMD-group functions and vector loads.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from agent_steel.tuning.edit import (
    UNROLL,
    free_name,
    with_dispatch,
    with_header_lines,
)
from agent_steel.tuning.row_form import (
    CONDITIONAL,
    IDENTITY,
    Reduction,
    RowForm,
    RowLoop,
    find_stores,
    local_names,
    read_join,
    read_row_form,
)
from agent_steel.tuning.syntax import (
    Assignment,
    Branch,
    LocalVariable,
    NotPlainError,
    Statement,
    Words,
    all_words,
    find_accesses,
    find_assigned_names,
    find_declared_names,
    is_multiple,
    map_accesses,
    match_bracket,
    names_in,
    replace_words,
    spell,
    split_offset,
    substitute,
    write_statements,
)
from metalbench.kernel.header import Kernel

# Write a row form for several threads a row.

FLOATING = frozenset({"float", "half"})
# Elements that a thread adds to one of its parts before it begins again from 0.
BLOCK = 32


@dataclass(frozen=True)
class RowMacros:
    """The macros of the new kernel."""

    wide: str
    rows: str
    keep: str
    hold: str


@dataclass
class SharedRowWriter:
    """Writes the function of a row form."""

    form: RowForm
    names: RowMacros
    text: list[str] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    memories: dict[str, str] = field(default_factory=dict)

    def write(self) -> str:
        """Return the helper functions and the kernel."""
        body = "".join(self._item(each) for each in self.form.items)
        form, names = self.form, self.names
        known = {each.name for each in form.parameters}
        sizes = [f"constant uint& {each}" for each in sorted(form.sizes - known)]
        taken = [
            *(each.text for each in form.parameters),
            *sizes,
            "uint group_ [[threadgroup_position_in_grid]]",
            "uint lane_ [[thread_index_in_simdgroup]]",
            "uint simdgroup_ [[simdgroup_index_in_threadgroup]]",
        ]
        memory = "".join(
            f"  threadgroup {kind} {name}[{names.rows} * {names.wide} / 32];\n"
            for kind, name in self.memories.items()
        )
        head = (
            f"  const uint groups_ = {names.wide} / 32;\n"
            f"  const uint row_ = group_ * {names.rows} + simdgroup_ / groups_;\n"
            f"  const bool inside_ = row_ < {form.count};\n"
            f"  const uint {form.row} = inside_ ? row_ : 0;\n"
            "  const uint first_ = 32 * (simdgroup_ % groups_) + lane_;\n"
        )
        held = self._hold()
        functions = "".join(_HELPERS[each] for each in _HELPERS if each in self.helpers)
        functions = functions.replace("WIDE", names.wide)
        return (
            f"{functions}[[kernel, max_total_threads_per_threadgroup({names.wide} * "
            f"{names.rows})]] void {form.function.name}({', '.join(taken)}) {{\n"
            f"{memory}{head}{held}{body}}}\n"
        )

    # Rows that stay in registers.

    @property
    def held(self) -> list[tuple[str, Words, Words]]:
        """Loads that threads may keep: buffer, the index without the element, bound."""
        form = self.form
        fixed = {each.name for each in form.parameters} | {form.row} | form.sizes
        written = {each.target[0] for each in find_stores(_bodies(form), form.function.buffers)}
        found: dict[tuple[str, Words, Words], None] = {}
        bound = form.loops[0].bound
        for loop in form.loops:
            if loop.scan or loop.bound != bound or loop.bound[0] not in fixed:
                continue
            for name, index, base in self._vector_loads(loop):
                names = {word for word in index if word.isidentifier()} - {loop.variable}
                if name not in written and names - {"uint", "int", "ulong", "long"} <= fixed:
                    found[name, base, loop.bound] = None
        return list(found)

    @property
    def shared(self) -> dict[Words, int]:
        """Calls that several loops compute for the same element, each with its first loop.

        The element is `#` in them. What they depend on does not change between these loops.
        """
        found: dict[Words, int] = {}
        items = self.form.items
        loops = [i for i, each in enumerate(items) if isinstance(each, RowLoop) and not each.scan]
        for first, second in itertools.combinations(loops, 2):
            one, other = items[first], items[second]
            assert isinstance(one, RowLoop)
            assert isinstance(other, RowLoop)
            changed = find_assigned_names(
                _bodies(replace(self.form, items=items[first : second + 1]))
            )
            local = set(local_names((*one.body, *other.body)))
            calls = set(_calls(other))
            for each in _calls(one):
                names = {word for word in each if word.isidentifier()}
                if each in calls and one.bound == other.bound and not names & (changed | local):
                    found.setdefault(each, first)
        return found

    def _hold(self) -> str:
        held = self.held
        if not held:
            return ""
        bound, keep, wide = spell(held[0][2]), self.names.keep, self.names.wide
        hold = self.names.hold
        text = (
            f"  const bool holds_ = inside_ && {keep} > 0 && {bound} % (4 * {wide}) == 0 && "
            f"{bound} <= 4 * {wide} * {keep};\n"
        )
        loads = ""
        for number, (name, base, _) in enumerate(held):
            kind = self._vector(name)
            text += f"  {kind} held_{number}_[{hold} * {keep} > 0 ? {keep} : 1];\n"
            loads += f"        held_{number}_[j_] = {self._load(name, base, 'c_')};\n"
        for number in range(len(self.shared)):
            text += f"  float kept_{number}_[{keep} > 0 ? {keep} : 1][4];\n"
        return (
            f"{text}  if ({hold} && holds_) {{\n    {UNROLL}"
            f"    for (uint j_ = 0; j_ < {keep}; ++j_) {{\n"
            f"      const uint c_ = 4 * (first_ + j_ * {wide});\n"
            f"      if (4 * {wide} * j_ < {bound}) {{\n{loads}      }}\n    }}\n  }}\n"
        )

    def _vector(self, buffer: str) -> str:
        return f"vec<{self.form.function.buffers[buffer].element}, 4>"

    def _load(self, buffer: str, base: Words, variable: str) -> str:
        const = "const " if self.form.function.buffers[buffer].is_const else ""
        space = self.form.function.buffers[buffer].text.split()
        where = "constant" if "constant" in space else "device"
        return (
            f"*({where} {'' if where == 'constant' else const}{self._vector(buffer)}*)"
            f"({buffer} + {_index(base, variable)})"
        )

    def _vector_loads(self, loop: RowLoop) -> Iterator[tuple[str, Words, Words]]:
        """Yield loads of four neighbouring elements: buffer, index, and the index's other terms."""
        seen: set[tuple[str, Words]] = set()
        for words in _unconditional(loop.body):
            for name, index in find_accesses(words, self.form.function.buffers):
                base = self._find_base(index, loop)
                if base is not None and (name, index) not in seen:
                    seen.add((name, index))
                    yield name, index, base

    def _find_base(self, index: Words, loop: RowLoop) -> Words | None:
        """Return the other terms of an index of neighbouring elements, if rows are whole quads."""
        terms = split_offset(index, loop.variable)
        if terms is None or not all(is_multiple(each, loop.bound) for each in terms):
            return None
        found: list[str] = []
        for each in terms:
            found += [*(["+"] if found else []), *each]
        return tuple(found)

    # Items.

    def _item(self, item: Statement | RowLoop) -> str:
        if isinstance(item, RowLoop):
            return self._scan(item) if item.scan else self._loop(item)
        if isinstance(item, Assignment) and item.target[0] in self.form.function.buffers:
            inner = write_statements([item], "    ")
            return f"  if (inside_ && first_ == 0) {{\n{inner}  }}\n"
        return write_statements([item], "  ")

    def _loop(self, loop: RowLoop) -> str:
        bound = spell(loop.bound)
        parts = self._parts(loop)
        text = "".join(
            f"  {kind} {name}_[4] = {{{', '.join([initial] * 4)}}};\n"
            for name, kind, initial in parts
        )
        text += "".join(
            f"  {each.type} {each.name}_far_[4] = {{0, 0, 0, 0}};\n"
            for each in loop.reductions
            if each.how == "sum" and each.type in FLOATING
        )
        paths = []
        held = self.held
        vectors = list(self._vector_loads(loop))
        mine = [each for each in vectors if (each[0], each[2], loop.bound) in held]
        wide = self.names.wide
        if mine:
            inner = self._vector_body(loop, "        ", vectors, held)
            paths.append(
                f"holds_) {{\n    {UNROLL}    for (uint j_ = 0; j_ < {self.names.keep}; ++j_) {{\n"
                f"      const uint c_ = 4 * (first_ + j_ * {wide});\n"
                f"      if (4 * {wide} * j_ < {bound}) {{\n{inner}      }}\n    }}\n  }}"
            )
        if vectors or self._vector_stores(loop):
            inner = self._vector_body(loop, "      ", vectors, [])
            over_row = self._in_blocks(
                loop,
                lambda first, end: (
                    f"    for (uint c_ = {first} + 4 * first_; inside_ && c_ < {end}; "
                    f"c_ += 4 * {wide}) {{\n{inner}    }}\n"
                ),
                f"{4 * BLOCK} * {wide}",
            )
            paths.append(f"{bound} % 4 == 0) {{\n{over_row}  }}")
        scalar = self._scalar_loop(loop)
        if paths:
            text += f"  if ({' else if ('.join(paths)} else {{\n{scalar}  }}\n"
        else:
            text += textwrap.dedent(scalar).replace("\n", "\n  ").rstrip(" ").join(["  ", ""])
        return text + "".join(self._join(each) for each in loop.reductions)

    def _in_blocks(self, loop: RowLoop, write: Callable[[str, str], str], size: str) -> str:
        """Write a loop over a row, with sums in blocks: a long sum in float loses digits.

        `write` gets the first element and the end of a block, `size` is the length of one.
        """
        bound = spell(loop.bound)
        sums = [each for each in loop.reductions if each.how == "sum" and each.type in FLOATING]
        if not sums:
            return write("0", bound).replace("0 + ", "")
        ends = "".join(
            f"        {each.name}_far_[k_] += {each.name}_[k_];\n        {each.name}_[k_] = 0;\n"
            for each in sums
        )
        inner = textwrap.indent(write("block_", "end_"), "  ")
        return (
            f"    for (uint block_ = 0; block_ < {bound}; block_ += {size}) {{\n"
            f"      const uint end_ = min(uint({bound}), block_ + {size});\n"
            f"{inner}"
            f"      {UNROLL}      for (uint k_ = 0; k_ < 4; ++k_) {{\n{ends}      }}\n    }}\n"
        )

    def _parts(self, loop: RowLoop) -> list[tuple[str, str, str]]:
        """Variables of which a thread has four parts, their types and first values."""
        found = []
        for each in loop.reductions:
            found.append((each.name, each.type, IDENTITY.get(each.how, each.name)))
            if each.index:
                found.append((each.index, each.index_type, each.index))
        return found

    def _scalar_loop(self, loop: RowLoop) -> str:
        parts = {name: (f"{name}_", "[", "0", "]") for name, _, _ in self._parts(loop)}
        body = _rename(loop.body, parts)
        c, kind, wide = loop.variable, loop.type, self.names.wide
        inner = write_statements(body, "      ")
        first = "first_" if kind == "uint" else "int(first_)"
        return self._in_blocks(
            loop,
            lambda begin, end: (
                f"    for ({kind} {c} = {begin} + {first}; inside_ && {c} < {end}; "
                f"{c} += {wide}) {{\n{inner}    }}\n"
            ),
            f"{BLOCK} * {wide}",
        )

    def _vector_stores(self, loop: RowLoop) -> dict[tuple[str, Words], Words]:
        """Return unconditional stores of neighbouring elements, and their other terms."""
        found = {}
        for each in loop.body:
            if isinstance(each, Assignment) and each.target[0] in self.form.function.buffers:
                base = self._find_base(each.target[2:-1], loop)
                if base is not None:
                    found[each.target[0], each.target[2:-1]] = base
        return found

    def _vector_body(
        self,
        loop: RowLoop,
        indent: str,
        vectors: list[tuple[str, Words, Words]],
        held: list[tuple[str, Words, Words]],
    ) -> str:
        stores = self._vector_stores(loop)
        known: dict[tuple[str, Words], str] = {}
        text = ""
        for number, (name, index, base) in enumerate(vectors):
            variable = f"{name}_{number}_"
            known[name, index] = variable
            key = (name, base, loop.bound)
            value = self._load(name, base, "c_")
            if key in held:
                value = f"{self.names.hold} ? held_{held.index(key)}_[j_] : {value}"
            const = "" if (name, index) in stores else "const "
            text += f"{indent}{const}{self._vector(name)} {variable} = {value};\n"
        for number, (name, index) in enumerate(stores):
            if (name, index) not in known:
                known[name, index] = f"{name}_to_{number}_"
                text += f"{indent}{self._vector(name)} {known[name, index]};\n"

        def change(name: str, index: Words) -> Words:
            if (name, index) in known:
                return (known[name, index], "[", "k_", "]")
            return (name, "[", *index, "]")

        parts = {name: (f"{name}_", "[", "k_", "]") for name, _, _ in self._parts(loop)}
        buffers = self.form.function.buffers
        body = self._with_shared(loop) if held else loop.body
        body = substitute(body, lambda words: map_accesses(words, buffers, change))
        body = _rename(body, parts)
        inner = write_statements(body, indent + "  ")
        c, kind = loop.variable, loop.type
        head = f"{indent}  const {kind} {c} = c_ + k_;\n" if _mentions(body, c) else ""
        text += (
            f"{indent}{UNROLL}{indent}for (uint k_ = 0; k_ < 4; ++k_) {{\n{head}{inner}{indent}}}\n"
        )
        for (name, index), base in stores.items():
            text += f"{indent}{self._load(name, base, 'c_')} = {known[name, index]};\n"
        return text

    def _with_shared(self, loop: RowLoop) -> tuple[Statement, ...]:
        """Compute what loops share in the first of them only."""
        body = loop.body
        number_of = {each: number for number, each in enumerate(self.shared)}
        for each, first in self.shared.items():
            call = tuple(loop.variable if word == "#" else word for word in each)
            kept = (f"kept_{number_of[each]}_", "[", "j_", "]", "[", "k_", "]")
            body = substitute(body, lambda words, call=call, kept=kept: _swap(words, call, kept))  # type: ignore[misc]
            if self.form.items[first] is loop:
                body = (Assignment(kept, "=", call), *body)
        return body

    def _join(self, each: Reduction) -> str:
        name = each.name
        memory = self._memory(each.type)
        if each.index:
            self.helpers.add("place")
            indices = self._memory(each.index_type, "index")
            is_max = "true" if each.how == "max" else "false"
            return (
                f"  place_of_row<{is_max}>({name}_, {each.index}_, {memory}, {indices}, lane_, "
                f"simdgroup_);\n  {name} = {name}_[0];\n  {each.index} = {each.index}_[0];\n"
            )
        self.helpers.add(each.how)
        parts = [f"{name}_[{i}]" for i in range(4)]
        if each.how == "sum" and each.type in FLOATING:
            parts = [f"({name}_far_[{i}] + {part})" for i, part in enumerate(parts)]
        sign = {"sum": " + ", "product": " * "}.get(each.how)
        if sign:
            own = f"({parts[0]}{sign}{parts[1]}){sign}({parts[2]}{sign}{parts[3]})"
        else:
            how = each.how
            own = f"{how}({how}({parts[0]}, {parts[1]}), {how}({parts[2]}, {parts[3]}))"
        whole = f"{each.how}_of_row({each.type}({own}), {memory}, lane_, simdgroup_)"
        if sign:
            return f"  {name} {sign.strip()}= {whole};\n"
        return f"  {name} = {whole};\n"

    def _memory(self, kind: str, of: str = "") -> str:
        key = kind if not of or kind not in self.memories else f"{kind}"
        if of and kind in self.memories:
            # Both are in use at a time.
            name = f"{of}_memory_"
            self.memories[f"{kind} "] = name
            return name
        return self.memories.setdefault(key, f"{of or kind}_memory_")

    def _scan(self, loop: RowLoop) -> str:
        """Write a loop over blocks of quads: sums within a thread, lanes, then SIMD-groups."""
        self.helpers.add("before")
        (each,) = loop.reductions
        name, bound, wide = each.name, spell(loop.bound), self.names.wide
        memory = self._memory("float")
        position = next(
            index
            for index, inner in enumerate(loop.body)
            if isinstance(inner, Assignment) and inner.target == (name,)
        )
        update = loop.body[position]
        assert isinstance(update, Assignment)
        joined = read_join(update)
        assert joined is not None
        before, after = loop.body[:position], loop.body[position + 1 :]
        value = joined[1]
        c, kind = loop.variable, loop.type
        loads = list(self._vector_loads(replace(loop, body=(*before, update))))
        repeated = any(isinstance(inner, LocalVariable) for inner in before)
        known = {(n, i): f"{n}_{k}_" for k, (n, i, _) in enumerate(loads)}

        def change(buffer: str, index: Words) -> Words:
            if (buffer, index) in known:
                return (known[buffer, index], "[", "k_", "]")
            return (buffer, "[", *index, "]")

        buffers = self.form.function.buffers

        def terms(indent: str, *, vector: bool) -> str:
            body: tuple[Statement, ...] = (
                *before,
                Assignment(("part_", "[", "k_", "]"), "=", value),
            )
            if vector:
                body = substitute(body, lambda words: map_accesses(words, buffers, change))
            inner = write_statements(body, indent)
            needs = _mentions(body, c)
            return (f"{indent}const {kind} {c} = c_ + k_;\n" if needs else "") + inner

        vector_loads = "".join(
            f"      const {self._vector(n)} {known[n, i]} = {self._load(n, base, 'c_')};\n"
            for n, i, base in loads
        )
        stores = self._vector_stores(replace(loop, body=after))
        # Declarations before the sum may be used behind it, too.
        again = before if repeated and _uses(after, find_declared_names(before)) else ()
        rest = _rename((*again, *after), {name: ("part_", "[", "k_", "]")})
        vector_rest = rest
        targets = {key: f"to_{number}_" for number, key in enumerate(stores)}

        def redirect(buffer: str, index: Words) -> Words:
            if (buffer, index) in targets:
                return (targets[buffer, index], "[", "k_", "]")
            return (buffer, "[", *index, "]")

        vector_rest = substitute(rest, lambda words: map_accesses(words, buffers, redirect))
        head = f"        const {kind} {c} = c_ + k_;\n"
        declare = "".join(f"      {self._vector(n)} {targets[n, i]};\n" for n, i in stores)
        put = "".join(
            f"      {self._load(n, base, 'c_')} = {targets[n, i]};\n"
            for (n, i), base in stores.items()
        )
        vector_text = write_statements(vector_rest, "        ")
        scalar_text = write_statements(rest, "        ")
        quad = f"{UNROLL}      for (uint k_ = 0; k_ < 4; ++k_) {{\n"
        return (
            f"  for (uint block_ = 0; block_ < {bound}; block_ += 4 * {wide}) {{\n"
            "    const uint c_ = block_ + 4 * first_;\n"
            "    float part_[4] = {0, 0, 0, 0};\n"
            f"    const bool is_whole_ = inside_ && {bound} % 4 == 0 && c_ < {bound};\n"
            "    if (is_whole_) {\n"
            f"{vector_loads}      {quad}{terms('        ', vector=True)}      }}\n"
            "    } else if (inside_) {\n"
            f"      {quad}        if (c_ + k_ < {bound}) {{\n"
            f"{terms('          ', vector=False)}        }}\n      }}\n"
            "    }\n"
            f"    {UNROLL}    for (uint k_ = 1; k_ < 4; ++k_) {{\n"
            "      part_[k_] += part_[k_ - 1];\n    }\n"
            "    float total_ = 0;\n"
            f"    const float before_ = {name} + before_in_row(part_[3], total_, {memory}, lane_, "
            "simdgroup_);\n"
            f"    {UNROLL}    for (uint k_ = 0; k_ < 4; ++k_) {{\n"
            "      part_[k_] += before_;\n    }\n"
            "    if (is_whole_) {\n"
            f"{declare}      {quad}{head if _mentions(vector_rest, c) else ''}{vector_text}"
            f"      }}\n{put}"
            "    } else if (inside_) {\n"
            f"      {quad}        if (c_ + k_ >= {bound}) {{\n          continue;\n        }}\n"
            f"{head if _mentions(rest, c) else ''}{scalar_text}      }}\n"
            "    }\n"
            f"    {name} += total_;\n"
            "  }\n"
        )


MATHS = frozenset(
    {
        *("exp", "exp2", "exp10", "log", "log2", "log10", "pow", "powr", "sqrt", "rsqrt"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "erf"),
    }
)


def _calls(loop: RowLoop) -> Iterator[Words]:
    """Yield calls of mathematical functions for each element, which is `#` in them."""
    statements = [each for each in loop.body if not isinstance(each, Branch)]
    for words in _unconditional(statements):
        for index, word in enumerate(words):
            if word in MATHS and words[index + 1 : index + 2] == ("(",):
                try:
                    closing = match_bracket(words, index + 1)
                except NotPlainError:
                    continue
                call = words[index : closing + 1]
                if words[index - 1 : index] == ("::",):
                    call = words[index - 2 : index] + call
                yield tuple("#" if each == loop.variable else each for each in call)


def _swap(words: Words, part: Words, other: Words) -> Words:
    """Replace all occurrences of a part of an expression."""
    found: list[str] = []
    index = 0
    while index < len(words):
        if words[index : index + len(part)] == part:
            found.extend(other)
            index += len(part)
        else:
            found.append(words[index])
            index += 1
    return tuple(found)


def _bodies(form: RowForm) -> list[Statement]:
    found: list[Statement] = []
    for each in form.items:
        found.extend(each.body if isinstance(each, RowLoop) else [each])
    return found


def _unconditional(body: Iterable[Statement]) -> Iterator[Words]:
    """Yield expressions that are computed for each element, without those that may be left out."""
    for each in body:
        if isinstance(each, Branch):
            words = [each.test]
        elif isinstance(each, Assignment):
            words = [each.value, each.target[2:-1]]
            if each.operator != "=" and len(each.target) > 1:
                words.append(each.target)
        else:
            words = list(all_words([each]))
        for several in words:
            end = next((i for i, word in enumerate(several) if word in CONDITIONAL), len(several))
            if end < len(several):
                # Up to the condition everything is computed; behind it not everything is.
                depth = 0
                for index, word in enumerate(several[:end]):
                    depth += (word in "([") - (word in ")]")
                    del index
                if depth:
                    continue
            yield several[:end]


def _rename(body: Iterable[Statement], names: Mapping[str, Words]) -> tuple[Statement, ...]:
    return substitute(body, lambda words: replace_words(words, names))


def _mentions(body: Iterable[Statement], name: str) -> bool:
    return any(name in names_in(words) for words in all_words(body))


def _uses(body: Iterable[Statement], names: set[str]) -> bool:
    return any(names & names_in(words) for words in all_words(body))


def _index(base: Words, variable: str) -> str:
    return f"({spell(base)} + {variable})" if base else variable


_WHOLE = """\
// {what} of `value` over the WIDE threads of a row. Each of them gets it.
template <typename T>
inline T {name}_of_row(T value, threadgroup T* memory, uint lane, uint simdgroup) {{
  value = {simd}(value);
  if (WIDE > 32) {{
    const uint first = simdgroup - simdgroup % (WIDE / 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {{
      memory[simdgroup] = value;
    }}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    value = memory[first];
    for (uint i = 1; i < WIDE / 32; ++i) {{
      value = {join};
    }}
  }}
  return value;
}}

"""
_HELPERS = {
    "sum": _WHOLE.format(
        what="The sum", name="sum", simd="simd_sum", join="value + memory[first + i]"
    ),
    "product": _WHOLE.format(
        what="The product", name="product", simd="simd_product", join="value * memory[first + i]"
    ),
    "max": _WHOLE.format(
        what="The maximum", name="max", simd="simd_max", join="max(value, memory[first + i])"
    ),
    "min": _WHOLE.format(
        what="The minimum", name="min", simd="simd_min", join="min(value, memory[first + i])"
    ),
    "place": """\
template <bool IsMax, typename T, typename I>
inline void take_better(thread T& best, thread I& index, T other, I place) {
  const bool is_better = IsMax ? other > best : other < best;
  if (is_better || (other == best && place < index)) {
    best = other;
    index = place;
  }
}

// The best of the WIDE threads of a row, and its first place, in the first element of both arrays.
template <bool IsMax, typename T, typename I>
inline void place_of_row(thread T* best, thread I* index, threadgroup T* memory,
                         threadgroup I* places, uint lane, uint simdgroup) {
  for (uint i = 1; i < 4; ++i) {
    take_better<IsMax>(best[0], index[0], best[i], index[i]);
  }
  const T own = best[0];
  best[0] = IsMax ? simd_max(own) : simd_min(own);
  index[0] = simd_min(own == best[0] ? index[0] : I(0x7fffffff));
  if (WIDE > 32) {
    const uint first = simdgroup - simdgroup % (WIDE / 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
      memory[simdgroup] = best[0];
      places[simdgroup] = index[0];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    best[0] = memory[first];
    index[0] = places[first];
    for (uint i = 1; i < WIDE / 32; ++i) {
      take_better<IsMax>(best[0], index[0], memory[first + i], places[first + i]);
    }
  }
}

""",
    "before": """\
// The sum of `value` over the threads of a row before this one, and over all of them as `total`.
inline float before_in_row(float value, thread float& total, threadgroup float* memory, uint lane,
                           uint simdgroup) {
  float before = simd_prefix_exclusive_sum(value);
  total = simd_sum(value);
  if (WIDE > 32) {
    const uint first = simdgroup - simdgroup % (WIDE / 32);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
      memory[simdgroup] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    total = 0;
    for (uint i = 0; i < WIDE / 32; ++i) {
      before += first + i < simdgroup ? memory[first + i] : 0;
      total += memory[first + i];
    }
  }
  return before;
}

""",
}


class SharedRows:
    """Several threads share a row, which one thread or one threadgroup goes through."""

    technique = "SIMD-groups a row"
    summary = (
        "The threads of one or more SIMD-groups share a row: each takes quads of it with vector "
        "loads, and SIMD-group functions join what they found. Rows stay in registers between "
        "loops where they fit."
    )
    needs = (
        "one dispatch over rows, by thread or by threadgroup with trees, whose loops over a row's "
        "elements only join values, store one element each, or store running sums"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with a number of threads for each row."""
        form = read_row_form(kernel)
        if form is None:
            return
        names = RowMacros(*(free_name(kernel, each) for each in ("WIDE", "ROWS", "KEEP", "HOLD")))
        writer = SharedRowWriter(form, names)
        try:
            function = writer.write()
        except NotPlainError:
            return
        source = kernel.source
        source = source[: form.function.begin] + function + source[form.function.end :]
        source = with_dispatch(
            source,
            form.function.name,
            f"threadgroups=(ceil_div({form.count}, {names.rows}))  "
            f"threads=({names.wide} * {names.rows})",
        )
        lines = [
            f"// tune: {names.wide} = 128, 32, 64, 256, 512, 1024",
            f"// tune: {names.rows} = 1, 2, 4, 8",
        ]
        cpu = f"{names.wide} = 32, {names.rows} = 4"
        if writer.held:
            lines.append(f"// tune: {names.keep} = 8, 0, 1, 2, 4, 16")
            lines.append(f"// tune: {names.hold} = 1, 0")
            # Caches of a processor are as fast as arrays of a simulated thread.
            cpu += f", {names.hold} = 0"
        lines.append(f"// defaults: cpu {cpu}")
        lines.append(f"// limits: {names.wide} * {names.rows} <= 1024")
        yield with_header_lines(source, lines)
