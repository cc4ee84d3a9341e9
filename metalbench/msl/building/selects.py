"""Short conditional code as `select` instructions, for builds that follow values.

MemorySanitizer's pass reports a branch on a value that was never given. Clang makes a branch of
`v = o > v ? o : v`, and a GPU a select: nothing happens there but that another value is chosen. So
code that only computes, and only writes to variables of the thread, becomes unconditional here.
What is chosen by a value that was never given was never given either: it is reported where it
reaches memory, a real branch or an address. This is the if-conversion of LLVM's SimplifyCFG, which
cannot run here, for it also removes what is to be found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from metalbench.msl.ir.module import Module

# Of the code that becomes unconditional.
_MOST_INSTRUCTIONS = 32
_LABEL = re.compile(r'("[^"]*"|[-\w.$]+):')
_BRANCH = re.compile(r"  br i1 (?P<if>[^,]+), label %(?P<then>[^,\s]+), label %(?P<else>[^,\s]+)")
_JUMP = re.compile(r"  br label %([^,\s]+)")
_PHI = re.compile(
    r"  (?P<value>%[\w.]+) = phi (?P<flags>(?:(?:fast|reassoc|nnan|ninf|nsz|arcp|contract|afn) )*)"
    r"(?P<type>[^\[]+?) (?P<ways>\[.*\])(?P<rest>(?:, !.*)?)$"
)
_WAY = re.compile(r"\[ ([^\[\]]+|<[^>]*>), %([^\s\]]+) \]")
_ALLOCA = re.compile(r"  (%[\w.]+) = alloca ")
_LOAD = re.compile(r"  %[\w.]+ = load [^,]+, ptr (%[\w.]+), align ")
_STORE = re.compile(
    r"  store (?P<type>\S+|<[^>]*>) (?P<value>\S+|<[^>]*>), ptr (?P<to>%[\w.]+)(?P<rest>, .*)"
)
_COMPUTES = re.compile(
    r"  %[\w.]+ = (?:f?add|f?sub|f?mul|fdiv|fneg|and|or|xor|shl|lshr|ashr|[if]cmp|select|trunc|zext"
    r"|sext|fptrunc|fpext|[su]itofp|bitcast|freeze|extractelement|insertelement|shufflevector) "
)
# Of what LLVM calls speculatable; a result that is undefined is not chosen.
_INTRINSIC = re.compile(
    r"  %[\w.]+ = (?:tail )?call (?:\w+ )*?\S+(?: x \w+>)? @llvm\.(?:ct[lt]z|ctpop|bswap|bitreverse"
    r"|fsh[lr]|[su](?:max|min|add\.sat|sub\.sat)|abs|fabs|(?:min|max)(?:num|imum|imumnum)|fma"
    r"|fmuladd|copysign|floor|ceil|trunc|rint|nearbyint|round|roundeven|canonicalize"
    r"|fpto[su]i\.sat)\."
)
_DEBUG = re.compile(r", !dbg !\d+")
_HEAD = re.compile(r"define .* !dbg (!\d+) ")
_LANES = re.compile(r"  (%[\w.]+) = call .*@_ZN5metal\d+(?:simd|quad)_")
_VALUE = re.compile(r"%[\w.]+")
_GROUP = re.compile(r" #(\d+) ")
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{(.*)\}$", re.MULTILINE)


def with_selects(ir: str) -> str:
    """Return the module with selects in all functions that are instrumented.

    Metal's own functions are among them: `max` of the headers is a conditional expression, too.
    """
    lines = ir.split("\n")
    theirs = {each.subprogram for each in Module(ir).users_functions()}
    followed = {group for group, listed in _ATTRIBUTES.findall(ir) if " sanitize_memory " in listed}
    starts = [index for index, line in enumerate(lines) if line.startswith("define ")]
    changed = lines[: starts[0]] if starts else lines
    for start, end in pairwise([*starts, len(lines)]):
        close = next(index for index in range(start, end) if lines[index] == "}")
        body = lines[start + 1 : close]
        group = _GROUP.search(lines[start])
        if group is not None and group[1] in followed and _may_choose(body):
            head = _HEAD.match(lines[start])
            is_theirs = head is not None and head[1] in theirs
            body = _Linearised(body, _from_lanes(body) if is_theirs else None).lines()
        changed += [lines[start], *body, *lines[close:end]]
    return "\n".join(changed)


def _may_choose(body: Sequence[str]) -> bool:
    """Whether there are branches, and names: a first block without one is counted as a value."""
    if not body or _LABEL.match(body[0]) is None:
        return False
    return any(line.startswith("  br i1 ") and "!nosanitize" not in line for line in body)


def _from_lanes(body: Sequence[str]) -> set[str]:
    """Return values and variables that results of SIMD functions go into.

    An `if` statement by such a value often chooses among lanes, and is of no matter in those that
    are not there. By others it is a branch, and a value that was never given is reported there.
    """
    found: set[str] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for line in body:
            if lanes := _LANES.match(line):
                found.add(lanes[1])
            elif store := _STORE.match(line):
                if store["value"] in found:
                    found.add(store["to"])
            elif " = " in line:
                result, _, rest = line.partition(" = ")
                if not found.isdisjoint(_VALUE.findall(rest)):
                    found.add(result.strip())
    return found


@dataclass
class _Block:
    label: str
    lines: list[str] = field(default_factory=list)  # without its last instruction
    end: str = ""
    tail: list[str] = field(default_factory=list)  # of an end that has several lines

    @property
    def successors(self) -> list[str]:
        return re.findall(r"\blabel %([^,\s\])]+)", "\n".join([self.end, *self.tail]))


class _Linearised:
    """The blocks of one function, in which short conditional code is made unconditional."""

    def __init__(self, body: Sequence[str], conditions: set[str] | None = None) -> None:
        # By which an `if` statement may become selects; None: by all.
        self._conditions = conditions
        self._blocks = {each.label: each for each in _blocks(body)}
        self._entry = next(iter(self._blocks))
        self._local = {found[1] for line in body if (found := _ALLOCA.match(line))}
        self._numbers = count()
        self._predecessors: dict[str, set[str]] = defaultdict(set)
        for block in self._blocks.values():
            self._note(block)

    def lines(self) -> list[str]:
        """Return the function's lines once nothing more can be linearised.

        Code within a conditional comes after its branch, so it is linearised before that is.
        """
        for label in reversed(list(self._blocks)):
            while self._change(label):
                pass
        lines: list[str] = []
        for block in self._blocks.values():
            blank = [""] if lines else []
            lines += [
                *blank,
                f"{block.label}:",
                *block.lines,
                *([block.end] if block.end else []),
                *block.tail,
            ]
        return lines

    def _change(self, label: str) -> bool:
        block = self._blocks.get(label)
        if block is None:
            return False
        branch = _BRANCH.match(block.end)
        if branch is None or "!nosanitize" in block.end or branch["then"] == branch["else"]:
            return False
        return self._join_conditions(block, branch) or self._choose(block, branch)

    def _note(self, block: _Block) -> None:
        for each in block.successors:
            self._predecessors[each].add(block.label)

    def _remove(self, label: str) -> None:
        for each in self._blocks.pop(label).successors:
            self._predecessors[each].discard(label)

    def _is_short(self, label: str, of: _Block, *, stores: bool) -> bool:
        """Whether only `of` leads to a block, and all that it does may be done in vain."""
        block = self._blocks[label]
        if block.tail or len(block.lines) > _MOST_INSTRUCTIONS or label == self._entry:
            return False
        if self._predecessors[label] != {of.label}:
            return False
        return all(self._is_harmless(line, stores=stores) for line in block.lines)

    def _is_harmless(self, line: str, *, stores: bool) -> bool:
        if not line:
            return True
        if "!nosanitize" in line or " volatile " in line:
            return False
        if load := _LOAD.match(line):
            return load[1] in self._local
        if stores and (store := _STORE.match(line)):
            return store["to"] in self._local
        return _COMPUTES.match(line) is not None or _INTRINSIC.match(line) is not None

    def _join_conditions(self, block: _Block, branch: re.Match[str]) -> bool:
        """Make one branch of the two of `a && b`, or `a || b`."""
        for second, other in ((branch["then"], branch["else"]), (branch["else"], branch["then"])):
            inner = _BRANCH.match(self._blocks[second].end)
            if inner is None or "!nosanitize" in self._blocks[second].end:
                continue
            if not self._is_short(second, block, stores=False) or second == other:
                continue
            if other not in (inner["then"], inner["else"]) or inner["then"] == inner["else"]:
                continue
            shared = self._blocks[other]
            if any(_PHI.match(line) for line in shared.lines):
                continue
            if any(_PHI.match(line) for line in self._blocks[_other(inner, other)].lines):
                continue
            # Taken is `other` where the first condition says so, else what the second one says.
            whole = f"%mb.joined.{next(self._numbers)}"
            place = _DEBUG.search(block.end)
            to_other = "true" if inner["then"] == other else "false"
            first = branch["if"]
            if self._conditions is not None and {first, inner["if"]} & self._conditions:
                self._conditions.add(whole)
            ways = (
                (f"i1 {to_other}", f"i1 {inner['if']}")
                if branch["then"] == other
                else (f"i1 {inner['if']}", f"i1 {to_other}")
            )
            block.lines += [
                *self._blocks[second].lines,
                f"  {whole} = select i1 {first}, {', '.join(ways)}{place[0] if place else ''}",
            ]
            block.end = self._blocks[second].end.replace(f"i1 {inner['if']}", f"i1 {whole}", 1)
            self._remove(second)
            self._note(block)
            return True
        return False

    def _choose(self, block: _Block, branch: re.Match[str]) -> bool:
        """Make selects of a branch whose sides meet again at once."""
        then, other = branch["then"], branch["else"]
        jumps = {each: _JUMP.match(self._blocks[each].end) for each in (then, other)}
        targets = {each: found[1] if found else "" for each, found in jumps.items()}
        if targets[then] and targets[then] == targets[other]:
            sides, end = [then, other], targets[then]
        elif targets[then] == other:
            sides, end = [then], other
        elif targets[other] == then:
            sides, end = [other], then
        else:
            return False
        # Of `?:` both sides give a value; of others it is reported that they are taken.
        is_statement = any(
            _STORE.match(line) for each in sides for line in self._blocks[each].lines
        )
        if is_statement and self._conditions is not None and branch["if"] not in self._conditions:
            return False
        if end == block.label or not all(
            self._is_short(each, block, stores=True) for each in sides
        ):
            return False
        joined = self._blocks[end]
        came_from = {
            then if then in sides else block.label: 1,
            other if other in sides else block.label: 0,
        }
        if self._predecessors[end] != {*came_from}:
            return False
        phis = [line for line in joined.lines if " = phi " in line]
        chosen = [self._selected(line, came_from, branch["if"]) for line in phis]
        if None in chosen:
            return False
        place = _DEBUG.search(block.end)
        for side in sides:
            for line in self._blocks[side].lines:
                block.lines += self._conditional(line, branch["if"], is_then=side == then)
            self._remove(side)
        block.lines += [line for line in chosen if line is not None]
        block.end = f"  br label %{end}{place[0] if place else ''}"
        joined.lines = [line for line in joined.lines if " = phi " not in line]
        self._predecessors[end] = {block.label}
        self._merge(block)
        return True

    def _conditional(self, line: str, condition: str, *, is_then: bool) -> Iterator[str]:
        """Return a line of a conditional block as lines that have no effect if it would not run."""
        store = _STORE.match(line)
        if store is None:
            yield line
            return
        number = next(self._numbers)
        place = _DEBUG.search(line)
        at = place[0] if place else ""
        old, new = f"%mb.old.{number}", f"%mb.new.{number}"
        ways = [f"{store['type']} {store['value']}", f"{store['type']} {old}"]
        ways = ways if is_then else ways[::-1]
        yield f"  {old} = load {store['type']}, ptr {store['to']}, align 1{at}"
        yield f"  {new} = select i1 {condition}, {', '.join(ways)}{at}"
        yield f"  store {store['type']} {new}, ptr {store['to']}{store['rest']}"

    @staticmethod
    def _selected(line: str, came_from: dict[str, int], condition: str) -> str | None:
        phi = _PHI.match(line)
        ways = {label: value for value, label in _WAY.findall(phi["ways"])} if phi else {}
        if phi is None or {*ways} != {*came_from}:
            return None
        values = [ways[label] for label in sorted(came_from, key=lambda each: -came_from[each])]
        chosen = ", ".join(f"{phi['type']} {value}" for value in values)
        return f"  {phi['value']} = select {phi['flags']}i1 {condition}, {chosen}{phi['rest']}"

    def _merge(self, block: _Block) -> bool:
        """Put a block's only successor, which follows no other one, behind it."""
        jump = _JUMP.match(block.end)
        if jump is None or "!llvm.loop" in block.end or jump[1] in (block.label, self._entry):
            return False
        label = jump[1]
        if self._predecessors[label] != {block.label}:
            return False
        next_one = self._blocks[label]
        if any(" = phi " in line for line in next_one.lines):
            return False
        block.lines += next_one.lines
        block.end, block.tail = next_one.end, next_one.tail
        self._remove(label)
        self._note(block)
        # Phis further on know where control comes from.
        name = re.compile(rf"%{re.escape(label)}(?= \])")
        for successor in block.successors:
            after = self._blocks[successor]
            after.lines = [
                name.sub(f"%{block.label}", line) if " = phi " in line else line
                for line in after.lines
            ]
        return True


def _other(branch: re.Match[str], label: str) -> str:
    return branch["else"] if branch["then"] == label else branch["then"]


def _blocks(body: Sequence[str]) -> Iterator[_Block]:
    """The blocks of a function's body, the entry first."""
    block, is_over = _Block("entry"), False
    for line in body:
        label = _LABEL.match(line)
        if label is not None:
            if block.lines or block.end:
                yield block
            block, is_over = _Block(label[1]), False
        elif is_over and line:
            block.tail.append(line)
        elif re.match(r"  (?:br|ret|switch|unreachable|invoke|indirectbr|resume)\b", line):
            block.end, is_over = line, True
        elif line:
            block.lines.append(line)
    yield block
