"""A module with the calls that stand for matrices, and without them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from metalbench.msl.matrices import joined, words
from metalbench.msl.matrices.block import CycleError, ordered
from metalbench.msl.matrices.products import CALLED, Chain, chains, pairs
from metalbench.msl.matrices.tensor_cores import Instructions
from metalbench.msl.matrices.text import Line, blocks, definitions, functions, line_of, named

_DECLARATION = re.compile(
    r"^declare [^\n]*@mb_(?:matrix_word|add_halves|add_bfloats|add_floats)\([^\n]*\n", re.MULTILINE
)


_CALLEE = re.compile(r"@[-\w.$]+")


def _is_declared(name: str, ir: str) -> bool:
    return re.search(rf"^declare [^\n]*{re.escape(name)}\(", ir, re.MULTILINE) is not None


def has_matrices(ir: str) -> bool:
    """Whether a module has such calls."""
    return words.CALLED in ir or CALLED.search(ir) is not None


def with_tensor_cores(ir: str) -> str:
    """A module, after it has been optimised, for a GPU that has them."""
    lowering = _Lowering()
    made, at = [], 0
    for function in functions(ir):
        made += [ir[at : function.start()], lowering.function(*function.groups())]
        at = function.end()
    text = _DECLARATION.sub("", "".join(made) + ir[at:])
    names = {_CALLEE.findall(each)[0]: each for each in sorted(lowering.declared)}
    missing = [each for name, each in names.items() if not _is_declared(name, text)]
    return "\n".join([text, *missing, ""])


class _Lowering:
    """What becomes of functions; `declared` is what they call."""

    def __init__(self) -> None:
        self.declared: set[str] = set()
        self._products = 0
        self._groups = 0
        self._lanes = joined.Lanes()

    def function(self, head: str, body: str) -> str:
        if not has_matrices(body):
            return f"{head}{body}}}"
        head, body = named(head, body)
        found = blocks(body)
        lines = [line for block in found for line in block]
        uses = Counter(name for line in lines for name in line_of(line).uses)
        given = definitions(lines)
        self._lanes = joined.Lanes()
        first, *others = [self._block(each, uses, given) for each in found]
        made = [*first[:1], *self._lanes.lines, *first[1:]]
        text = "\n".join("\n".join(each) for each in (made, *others))
        return f"{head}{text}\n}}"

    def _block(
        self, texts: Sequence[str], uses: Counter[str], given: Mapping[str, Line]
    ) -> Sequence[str]:
        operands: dict[tuple[str, ...], None] = {}
        if CALLED.search("\n".join(texts)):
            texts, operands = self._multiplied(texts, uses)
        lines = [line_of(text) for text in texts]
        groups = joined.groups_of(lines, given, list(operands))
        done = {each.word.result for group in groups.values() for each in group.matrices}
        made: list[str] = []
        for at, line in enumerate(lines):
            if at in groups:
                made += self._declaring(joined.read(groups[at], self._lanes, self._groups))
                self._groups += 1
            elif words.CALLED not in line.text:
                made.append(line.text)
            elif line.result not in done:
                made += self._declaring(words.lowered(line, given))
        return made

    def _declaring(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        self.declared |= {each for name, each in words.DECLARATIONS.items() if f"{name}(" in text}
        return lines

    def _multiplied(
        self, texts: Sequence[str], uses: Counter[str]
    ) -> tuple[list[str], dict[tuple[str, ...], None]]:
        """A block whose products are instructions, and the operands of these.

        Its head and its end stay where they are.
        """
        first = next(i for i, text in enumerate(texts) if not _is_head(text, i))
        last = next((i for i, text in enumerate(texts) if _is_end(text)), len(texts))
        lines = [line_of(text) for text in texts[first:last]]
        at = {line.result: i for i, line in enumerate(lines) if line.result}
        groups = pairs(chains(lines, uses))
        groups, order = _in_order(lines, groups, at)
        made: list[str] = []
        operands: dict[tuple[str, ...], None] = {}
        for number in order:
            if number < len(lines):
                made.append(lines[number].text)
                continue
            instructions = Instructions(groups[number - len(lines)], self._products)
            self._products += 1
            self.declared |= instructions.declared
            operands |= instructions.operands
            made += instructions.lines
        return [*texts[:first], *made, *texts[last:]], operands


def _in_order(
    lines: Sequence[Line], groups: list[tuple[Chain, ...]], at: Mapping[str, int]
) -> tuple[list[tuple[Chain, ...]], list[int]]:
    """Groups as they can be, and the block's order with them."""
    while True:
        members = [
            frozenset(at[name] for chain in group for name in chain.members) for group in groups
        ]
        try:
            return groups, ordered(lines, members)
        except CycleError as cycle:
            group = groups.pop(int(cycle.args[0]) - len(lines))
            groups += _apart(group)


def _apart(group: tuple[Chain, ...]) -> list[tuple[Chain, ...]]:
    """Less of a group: its chains alone, or a chain's products."""
    if len(group) > 1:
        return [(chain,) for chain in group]
    return [(Chain((each,)),) for each in group[0].products]


def _is_head(text: str, number: int) -> bool:
    label = number == 0 and text.partition(";")[0].rstrip().endswith(":")
    return label or " = phi " in text


_END = re.compile(r"\s*(?:br|ret|switch|unreachable|indirectbr|callbr|invoke)\b")


def _is_end(text: str) -> bool:
    return _END.match(text) is not None
