"""What the code of a kernel proves of the alignment of its addresses.

An analysis of known trailing zero bits. LLVM's own (`computeKnownBits`) does not see through casts
of address spaces, nor what a branch on `cols % 4 == 0` says of the code that it leads to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metalbench.msl.ir.text import split

# More are not counted.
MOST = 16
# Deeper expressions prove nothing.
_DEPTH = 100
# The fixed point of a function's phis is reached in a few rounds, or given up.
_ROUNDS = 40
_MOST_PHIS = 20000

NAME = r'%(?:"[^"]*"|[-\w.$]+)'
_LABEL = re.compile(r'^(?:"(?P<quoted>[^"]*)"|(?P<plain>[-\w.$]+)):')
_VALUE = re.compile(rf"^  (?P<name>{NAME}) = (?P<made>.*)$")
_BRANCH = re.compile(
    rf"^  br i1 (?P<condition>{NAME}|true|false), label %(?P<yes>\"[^\"]*\"|[^\s,]+), "
    r"label %(?P<no>\"[^\"]*\"|[^\s,]+)"
)
_TARGET = re.compile(r'\blabel %("[^"]*"|[-\w.$]+)')
_ASSUME = re.compile(rf"call void @llvm\.assume\(i1 (?:noundef )?({NAME})\)")
_COMPARISON = re.compile(rf"icmp (?:samesign )?(eq|ne) \S+ ({NAME}), 0$")
_BOTH = re.compile(rf"(?:and i1 ({NAME}), ({NAME})|select i1 ({NAME}), i1 ({NAME}), i1 false)$")
_EITHER = re.compile(
    rf"(?:or (?:disjoint )?i1 ({NAME}), ({NAME})|select i1 ({NAME}), i1 true, i1 ({NAME}))$"
)
_NOT = re.compile(rf"xor i1 ({NAME}), true$")
_BINARY = re.compile(
    r"(?P<op>add|sub|mul|shl|lshr|ashr|and|or|xor|urem) (?:(?:nuw|nsw|exact|disjoint) )*i\d+ "
    rf"(?P<first>{NAME}|-?\d+), (?P<second>{NAME}|-?\d+)$"
)
_CAST = re.compile(
    r"(?P<op>zext|sext|trunc|freeze|inttoptr|ptrtoint|addrspacecast|bitcast) "
    r"(?:(?:nneg|nuw|nsw) )*(?:i\d+|ptr(?: addrspace\(\d+\))?) "
    rf"(?P<of>{NAME}|@[^\s,]+|-?\d+)(?: to .*)?$"
)
_SELECT = re.compile(r"select (?:\w+ )*?i1 .*?, (?P<yes>.*)$")
_EXTREME = re.compile(r"call (?:\w+ )*?i\d+ @llvm\.[us](?:min|max)\.i\d+\((?P<of>.*)\)")
_ALLOCA = re.compile(r"alloca .*, align (\d+)")
_GEP = re.compile(r"getelementptr (?:(?:inbounds|nuw|nusw) )*(?P<of>.*)$")
_CONSTANT = re.compile(
    r"(?P<op>getelementptr|addrspacecast|inttoptr|ptrtoint) "
    r"(?:(?:inbounds|nuw|nusw) )*\((?P<of>.*)\)$"
)
_PHI = re.compile(r"phi (?:[a-z]+ )*?(?:i\d+|ptr(?: addrspace\(\d+\))?) (?P<of>\[.*)$")
_INCOMING = re.compile(r'\[ (?P<value>.*?), %(?P<block>"[^"]*"|[-\w.$]+) \](?:, (?=\[)|$)')
_GLOBAL = re.compile(r'^(@(?:"[^"]*"|[-\w.$]+)) = .*, align (\d+)', re.M)
_STRUCT = re.compile(rf"^({NAME}) = type (<?)\{{(.*)\}}>?$", re.M)
_LOADED = re.compile(rf"load (?:i64|i32), ptr ({NAME}), ")
_PARAMETER = re.compile(rf"\bbyval\([^)]*Launch\"?\) [^,]*?({NAME})\)")
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_ATTRIBUTE = re.compile(r"^(?:ptr(?: addrspace\(\d+\))?|i\d+) (?:(?:noundef|nonnull) )*")

# Offsets of mb::gpu::Launch (csrc/msl/mb/gpu/abi.h): its addresses of buffers, and its offsets
# into dynamic threadgroup memory, which are multiples of 16.
BUFFERS = range(56, 56 + 31 * 8, 8)
THREADGROUP_OFFSETS = range(BUFFERS.stop, BUFFERS.stop + 31 * 4, 4)
_THREADGROUP_ZEROS = 4

Facts = Mapping[str, int]


def trailing_zeros(number: int) -> int:
    """Return the number of trailing zero bits, at most `MOST`."""
    return MOST if number == 0 else min((number & -number).bit_length() - 1, MOST)


def _both(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the facts of both."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def _common(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the facts that both have."""
    return {name: min(zeros, second[name]) for name, zeros in first.items() if name in second}


class Module:
    """Sizes of types and alignments of global variables."""

    def __init__(self, ir: str) -> None:
        self.zeros = {name: trailing_zeros(int(align)) for name, align in _GLOBAL.findall(ir)}
        self._structs = {name: (bool(packed), body) for name, packed, body in _STRUCT.findall(ir)}
        self._layouts: dict[str, tuple[int, int] | None] = {}

    def bytes_of(self, kind: str) -> int | None:
        """Return the bytes from one element of an array of this type to the next."""
        layout = self._layout(kind)
        return None if layout is None else layout[0]

    def element(self, kind: str, index: str) -> tuple[str, int] | None:
        """Return a member's type and its offset in bytes, of a struct or of an array's start."""
        kind = kind.strip()
        if kind[0] in "[<" and kind[1] != "{":
            return kind[1:-1].split(" x ", 1)[1], 0
        packed, body = self._structs.get(kind, (kind.startswith("<{"), kind.strip("<{ }>")))
        if not index.isdecimal():
            return None
        offset = 0
        for number, member in enumerate(split(body)):
            layout = self._layout(member)
            if layout is None:
                return None
            size, align = layout
            offset = offset if packed else -(-offset // align) * align
            if number == int(index):
                return member, offset
            offset += size
        return None

    def _layout(self, kind: str) -> tuple[int, int] | None:
        kind = kind.strip()
        if kind not in self._layouts:
            self._layouts[kind] = self._made_layout(kind)
        return self._layouts[kind]

    def _made_layout(self, kind: str) -> tuple[int, int] | None:  # noqa: PLR0911
        if kind in _BYTES or re.fullmatch(r"i\d+", kind):
            size = _BYTES.get(kind) or 1 << (-(-int(kind[1:]) // 8) - 1).bit_length()
            return size, size
        if kind.startswith("ptr"):
            return 8, 8
        if kind[0] in "[<" and " x " in kind and kind[1] != "{":
            count, _, inner = kind[1:-1].partition(" x ")
            layout = self._layout(inner)
            if layout is None:
                return None
            size = int(count) * layout[0]
            if kind[0] == "[":
                return size, layout[1]
            # A vector of three takes the room of four.
            whole = 1 << (size - 1).bit_length()
            return whole, whole
        if kind not in self._structs:
            return None
        packed, body = self._structs[kind]
        end = most = 0
        for member in split(body) if body.strip() else []:
            layout = self._layout(member)
            if layout is None:
                return None
            most = max(most, 1 if packed else layout[1])
            end = (end if packed else -(-end // layout[1]) * layout[1]) + layout[0]
        most = max(most, 1)
        return -(-end // most) * most, most


@dataclass
class _Block:
    name: str
    lines: range
    defines: set[str] = field(default_factory=set)
    preds: list[str] = field(default_factory=list)


class ProvenAlignment:
    """Trailing zeros of a function's values, at each of its lines."""

    def __init__(self, lines: list[str], module: Module, buffer_zeros: int) -> None:
        self._module = module
        self._buffer_zeros = buffer_zeros
        self._made: dict[str, str] = {}
        self._phis: dict[str, list[tuple[str, str]]] = {}
        # Phis of conditions.
        self._choices: dict[str, list[tuple[str, str]]] = {}
        found = _PARAMETER.search(lines[0])
        self._launch = found[1] if found else ""
        self._blocks = list(self._cut(lines))
        self._defined_in = {value: block.name for block in self._blocks for value in block.defines}
        self._block_of = {index: block for block in self._blocks for index in block.lines}
        # Trailing zeros of values where a block begins, and on the edges between blocks.
        self._edges: dict[tuple[str, str], dict[str, int]] = {}
        self._numbers: dict[tuple[tuple[str, int], ...], int] = {}
        self._known: list[dict[str, int]] = []
        self._facts = {name: self._number(of) for name, of in self._flow(lines).items()}
        # Numbers of facts: those that hold where a phi is, and along its edges.
        self._before: dict[tuple[int, str], int] = {}
        self._along: dict[tuple[int, str, str], int] = {}
        self._phis_prove = True

    def zeros(self, uses: Sequence[tuple[str, int]]) -> list[int]:
        """Return the trailing zeros of addresses, each where a line of the function uses it."""
        return self._settle(uses)

    def _number(self, facts: Mapping[str, int]) -> int:
        """Return a number for a set of facts, the same one for equal sets."""
        key = tuple(sorted(facts.items()))
        if key not in self._numbers:
            self._numbers[key] = len(self._known)
            self._known.append(dict(facts))
        return self._numbers[key]

    def _cut(self, lines: list[str]) -> Iterable[_Block]:
        arguments = len(re.findall(r"%\d+", lines[0].partition("@")[2]))
        starts = [(1, str(arguments))]
        for index, line in enumerate(lines):
            if label := _LABEL.match(line):
                name = f'"{label["quoted"]}"' if label["quoted"] else label["plain"]
                starts = [(index, name)] if index == 1 else [*starts, (index, name)]
            elif value := _VALUE.match(line):
                made = re.sub(r", !.*$| #\d+$", "", value["made"])
                made = re.sub(r" #\d+$", "", made)
                self._made[value["name"]] = made
                if phi := _PHI.match(made):
                    incoming = _INCOMING.findall(phi["of"])
                    phis = self._choices if made.startswith("phi i1 ") else self._phis
                    phis[value["name"]] = [(given, block) for given, block in incoming]
        ends = [start for start, _ in starts[1:]] + [len(lines)]
        for (start, name), end in zip(starts, ends, strict=True):
            block = _Block(name, range(start, end))
            block.defines = {
                value["name"] for line in lines[start:end] if (value := _VALUE.match(line))
            }
            yield block

    # Facts are what branches say of values: trailing zeros in code that a branch leads to.

    def _flow(self, lines: list[str]) -> Mapping[str, Facts]:
        """Return what is known at the start of each block, where all of its predecessors agree."""
        branches: dict[tuple[str, str], tuple[str, bool]] = {}
        assumed: dict[str, list[str]] = defaultdict(list)
        preds: dict[str, list[str]] = defaultdict(list)
        for block in self._blocks:
            targets: set[str] = set()
            for index in block.lines:
                line = lines[index]
                # Targets of a switch stand on lines of their own.
                if "label %" in line and _VALUE.match(line) is None:
                    targets.update(_TARGET.findall(line))
                if branch := _BRANCH.match(line):
                    if branch["yes"] != branch["no"]:
                        branches[block.name, branch["yes"]] = branch["condition"], True
                        branches[block.name, branch["no"]] = branch["condition"], False
                elif assume := _ASSUME.search(line):
                    assumed[block.name].append(assume[1])
            for target in targets:
                preds[target].append(block.name)
        self._dominators = self._dominate(preds)
        known: Mapping[str, Facts] = {block.name: {} for block in self._blocks}
        # What a phi of conditions says depends on what is known where they come from.
        for _ in range(2):
            self._reached = known
            self._said_by: dict[tuple[str, bool], dict[str, int]] = {}
            said = {edge: self._said(*condition) for edge, condition in branches.items()}
            self._edges = {edge: facts for edge, facts in said.items() if facts}
            own: dict[str, dict[str, int]] = defaultdict(dict)
            for name, conditions in assumed.items():
                for condition in conditions:
                    own[name] |= _both(own[name], self._said(condition, True))
            if not self._edges and not any(own.values()):
                break
            known = self._agreed(own, preds)
        return known

    def _dominate(self, preds: Mapping[str, list[str]]) -> dict[str, int]:
        """Return the blocks that dominate each block, as a mask of their bits."""
        bit = {block.name: 1 << number for number, block in enumerate(self._blocks)}
        entry = self._blocks[0].name
        everything = (1 << len(self._blocks)) - 1
        found = dict.fromkeys(bit, everything)
        found[entry] = bit[entry]
        self._bit = bit
        changed = True
        while changed:
            changed = False
            for name, own in bit.items():
                if name == entry:
                    continue
                mask = everything
                for pred in preds.get(name, []):
                    mask &= found[pred]
                mask |= own
                changed |= mask != found[name]
                found[name] = mask
        return found

    def _agreed(
        self, own: Mapping[str, Facts], preds: Mapping[str, list[str]]
    ) -> Mapping[str, Facts]:
        known: dict[str, dict[str, int] | None] = {block.name: None for block in self._blocks}
        known[self._blocks[0].name] = dict(own.get(self._blocks[0].name, {}))
        for _ in range(len(self._blocks) + _ROUNDS):
            changed = False
            for block in self._blocks[1:]:
                given: dict[str, int] | None = None
                for pred in preds.get(block.name, []):
                    before = known.get(pred)
                    if before is None:
                        continue
                    there = _both(before, self._edges.get((pred, block.name), {}))
                    given = there if given is None else _common(given, there)
                if given is None:
                    continue
                # A value that is computed anew is not what was compared.
                given = {name: zeros for name, zeros in given.items() if name not in block.defines}
                given |= own.get(block.name, {})
                if given != known[block.name]:
                    known[block.name] = given
                    changed = True
            if not changed:
                return {name: of or {} for name, of in known.items()}
        return {block.name: {} for block in self._blocks}

    def _said(self, condition: str, holds: bool, depth: int = 0) -> dict[str, int]:
        """Return what a condition says of values, if it holds or if it does not."""
        key = condition, holds
        if key not in self._said_by:
            # A condition that depends on itself, around a loop, says nothing there.
            self._said_by[key] = {}
            self._said_by[key] = self._consequences(condition, holds, depth)
        return self._said_by[key]

    def _consequences(self, condition: str, holds: bool, depth: int) -> dict[str, int]:  # noqa: PLR0911
        made = self._made.get(condition)
        if made is None or depth > _DEPTH:
            return {}
        if condition in self._choices:
            return self._said_by_phi(condition, holds, depth)
        cast = _CAST.match(made)
        if cast is not None and cast["op"] == "trunc" and not holds:
            low: dict[str, int] = {}
            self._multiple(cast["of"], 1, low, 0)
            return low
        parts = (_BOTH if holds else _EITHER).match(made)
        if parts:
            said: dict[str, int] = {}
            for part in filter(None, parts.groups()):
                said = _both(said, self._said(part, holds, depth + 1))
            return said
        if opposite := _NOT.match(made):
            return self._said(opposite[1], not holds, depth + 1)
        compared = _COMPARISON.match(made)
        if compared is None or (compared[1] == "eq") is not holds:
            return {}
        return self._zero(compared[2])

    def _said_by_phi(self, phi: str, holds: bool, depth: int) -> dict[str, int]:
        """Return what is known wherever a phi of conditions may have got its value."""
        opposite = "false" if holds else "true"
        to = self._defined_in[phi]
        known: dict[str, int] | None = None
        for value, block in self._choices[phi]:
            if value == opposite:
                continue
            there = _both(self._reached[block], self._edges.get((block, to), {}))
            there = _both(there, self._said(value, holds, depth + 1))
            known = there if known is None else _common(known, there)
        # Only a value that is computed before the phi is sure to be the one that was compared.
        return {
            value: zeros
            for value, zeros in (known or {}).items()
            if self._dominates(value, to) and value not in self._phis
        }

    def _dominates(self, value: str, block: str) -> bool:
        where = self._defined_in.get(value)
        return where is None or (
            where != block and bool(self._dominators[block] & self._bit[where])
        )

    def _zero(self, value: str) -> dict[str, int]:
        """Return what is known where the result of an `and` or of a `urem` is zero."""
        said: dict[str, int] = {}
        binary = _BINARY.match(self._made.get(value, ""))
        if binary is None or not binary["second"].isdecimal():
            return said
        number = int(binary["second"])
        if binary["op"] == "and" and (number + 1) & number == 0:
            self._multiple(binary["first"], min(number.bit_length(), MOST), said, 0)
        elif binary["op"] == "and":
            low = trailing_zeros(~number)
            if low:
                self._multiple(binary["first"], low, said, 0)
        elif binary["op"] == "urem" and number:
            self._multiple(binary["first"], trailing_zeros(number), said, 0)
        return said

    def _multiple(self, value: str, zeros: int, said: dict[str, int], depth: int) -> None:
        """Collect what follows from a value's trailing zeros for those that it is made of."""
        if zeros <= 0 or depth > _DEPTH or not value.startswith("%"):
            return
        said[value] = max(zeros, said.get(value, 0))
        made = self._made.get(value, "")
        if cast := _CAST.match(made):
            self._multiple(cast["of"], zeros, said, depth + 1)
        elif binary := _BINARY.match(made):
            first, second = binary["first"], binary["second"]
            if binary["op"] == "or":
                self._multiple(first, zeros, said, depth + 1)
                self._multiple(second, zeros, said, depth + 1)
            elif binary["op"] == "shl" and second.isdecimal():
                self._multiple(first, zeros - int(second), said, depth + 1)
            elif binary["op"] == "mul" and second.lstrip("-").isdecimal() and int(second):
                self._multiple(first, zeros - trailing_zeros(int(second)), said, depth + 1)

    # Trailing zeros of values.

    def _settle(self, uses: Sequence[tuple[str, int]]) -> list[int]:
        """Return the trailing zeros of uses at the greatest fixed point of all phis."""
        self._settled: dict[tuple[str, int], int] = {}
        self._memo: dict[tuple[str, int], int] = {}
        for _ in range(_ROUNDS):
            self._memo.clear()
            before = dict(self._settled)
            found = [self._zeros(pointer, self._facts_at(line), 0) for pointer, line in uses]
            after = {key: self._incoming(*key) for key in list(self._settled)}
            if len(self._settled) > _MOST_PHIS:
                break
            if self._settled == before == after:
                return found
            self._settled.update(after)
        self._memo.clear()
        self._phis_prove = False
        return [self._zeros(pointer, self._facts_at(line), 0) for pointer, line in uses]

    def _facts_at(self, line: int) -> int:
        return self._facts[self._block_of[line].name]

    def _of_phi(self, phi: str, facts: int) -> int:
        """Return the trailing zeros of a phi, as far as is known in this round."""
        if not self._phis_prove:
            return 0
        to = self._defined_in[phi]
        place = (facts, to)
        if place not in self._before:
            # What is known of a value that is computed before the phi held there as well.
            known = self._known[facts].items()
            self._before[place] = self._number(
                {value: zeros for value, zeros in known if self._dominates(value, to)}
            )
        return self._settled.setdefault((phi, self._before[place]), MOST)

    def _incoming(self, phi: str, facts: int) -> int:
        to = self._defined_in[phi]
        found = MOST
        for value, block in self._phis[phi]:
            edge = (facts, block, to)
            if edge not in self._along:
                there = _both(self._known[facts], self._known[self._facts[block]])
                self._along[edge] = self._number(_both(there, self._edges.get((block, to), {})))
            found = min(found, self._zeros(value, self._along[edge], 0))
        return found

    def _zeros(self, value: str, facts: int, depth: int) -> int:
        if not value.startswith("%"):
            return self._constant(value)
        key = (value, facts)
        if key not in self._memo:
            if depth > _DEPTH:
                return 0
            said = self._known[facts].get(value, 0)
            self._memo[key] = min(max(said, self._computed(value, facts, depth + 1)), MOST)
        return self._memo[key]

    def _constant(self, text: str) -> int:
        text = _ATTRIBUTE.sub("", text.strip())
        if re.fullmatch(r"-?\d+", text):
            return trailing_zeros(int(text))
        if text in ("null", "zeroinitializer", "undef", "poison"):
            return MOST
        if text.startswith("@"):
            return self._module.zeros.get(text, 0)
        constant = _CONSTANT.match(text)
        if constant is None:
            return 0
        if constant["op"] == "getelementptr":
            return self._indexed(constant["of"], self._number({}), 0)
        return self._constant(constant["of"].rpartition(" to ")[0])

    def _computed(self, value: str, facts: int, depth: int) -> int:  # noqa: PLR0911
        if value in self._phis:
            return self._of_phi(value, facts)
        made = self._made.get(value)
        if made is None:
            return 0
        if binary := _BINARY.match(made):
            return self._binary(binary, facts, depth)
        if cast := _CAST.match(made):
            return self._zeros(cast["of"], facts, depth)
        if gep := _GEP.match(made):
            return self._indexed(gep["of"], facts, depth)
        if made.startswith(("addrspacecast", "ptrtoint")):
            return self._constant(made.partition(" ")[2].rpartition(" to ")[0])
        if select := _SELECT.match(made):
            return min(self._operand(each, facts, depth) for each in split(select["yes"])[-2:])
        if extreme := _EXTREME.search(made):
            return min(self._operand(each, facts, depth) for each in split(extreme["of"]))
        if alloca := _ALLOCA.match(made):
            return trailing_zeros(int(alloca[1]))
        loaded = _LOADED.match(made)
        return self._of_launch(loaded[1]) if loaded else 0

    def _of_launch(self, pointer: str) -> int:
        """Return what the host promises of a member of mb::gpu::Launch."""
        gep = _GEP.match(self._made.get(pointer, ""))
        place = split(gep["of"]) if gep else []
        if len(place) != 3 or place[0] != "i8" or not self._launch:
            return 0
        if place[1].rpartition(" ")[2] != self._launch:
            return 0
        offset = place[2].rpartition(" ")[2]
        if not offset.isdecimal():
            return 0
        if int(offset) in BUFFERS:
            return self._buffer_zeros
        return _THREADGROUP_ZEROS if int(offset) in THREADGROUP_OFFSETS else 0

    def _operand(self, text: str, facts: int, depth: int) -> int:
        """Of a typed operand."""
        return self._zeros(_ATTRIBUTE.sub("", text.strip()), facts, depth)

    def _binary(self, found: re.Match[str], facts: int, depth: int) -> int:
        op, second = found["op"], found["second"]
        one = self._zeros(found["first"], facts, depth)
        if op in ("shl", "lshr", "ashr"):
            if not second.isdecimal():
                return one if op == "shl" else 0
            return max(one + int(second) if op == "shl" else one - int(second), 0)
        other = self._zeros(second, facts, depth)
        if op == "mul":
            return one + other
        return max(one, other) if op == "and" else min(one, other)

    def _indexed(self, text: str, facts: int, depth: int) -> int:
        kind, base, *indices = split(text)
        zeros = self._operand(base, facts, depth)
        for number, typed in enumerate(indices):
            index = typed.rpartition(" ")[2]
            offset = 0
            if number:
                member = self._module.element(kind, index)
                if member is None:
                    return 0
                if kind.strip()[0] in "[<" and kind.strip()[1] != "{":
                    kind = member[0]
                else:
                    kind, offset = member
                    zeros = min(zeros, trailing_zeros(offset))
                    continue
            size = self._module.bytes_of(kind)
            if size is None:
                return 0
            zeros = min(zeros, self._zeros(index, facts, depth) + trailing_zeros(size))
        return zeros
