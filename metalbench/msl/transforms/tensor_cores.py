"""Replace products of 8 x 8 matrices by a tensor core's instructions.

A tensor core multiplies 16 x 16 by 16 x 8 elements of two bytes, or 16 x 8 by 8 x 8 of four. So two
sums over one right matrix, each with two products in a row, go together: of halves, four products
of 8 x 8 in one instruction.

A tensor core truncates as it sums. The error of a sum of products of halves or bfloats is less
than that of their rounding, and such products are summed in the tensor core, as cuBLAS does.

Its floats are TF32, with 11 bits of a significand. A float is the sum of two of them, and a product
of floats is three products of such: all but that of the low parts. `SUMMED` of these products an
element are summed in the tensor core, and added to the rest as any float is. A longer sum would be
less exact than one that rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metalbench.msl.ir.model import (
    BasicBlock,
    CallInstruction,
    Function,
    Instruction,
    Part,
    Terminator,
    lazy_instruction,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.transforms import matrix_words
from metalbench.msl.transforms.block_order import (
    MATRIX_WORD,
    CycleError,
    is_matrix_word,
    order_instructions,
)

SUMMED = 16
_ADD = "mb_add_"
# Words of a lane in a matrix of these elements.
_WORDS = {"halves": 1, "bfloats": 1, "floats": 4}
_HELPERS = (MATRIX_WORD, *(f"{_ADD}{elements}" for elements in _WORDS))
_TYPES = {"halves": ("f16", "<2 x half>"), "bfloats": ("bf16", "i32")}
# Intrinsics of bfloats are named without the type of the sums.
_SUFFIX = {"f16": "f32.f32", "bf16": "bf16"}
# A float is split into a high and a low part: the positions of these for a lane's two elements.
_HIGH, _LOW = (0, 1), (2, 3)
_FLOATS = "{ float, float, float, float }"


def lower_matrices(module: Module) -> None:
    """Replace the calls that stand for matrices, after the module has been optimised.

    Raises IrError for such a call that is not understood.
    """
    lowering = _Lowering()
    for function in module.functions.values():
        if _mentions_matrices(function):
            lowering.lower(function)
            if _mentions_matrices(function):
                raise IrError(f"a matrix is left in {function.name}")
    declarations = module.declarations
    for name in _HELPERS:
        if f"@{name}" in declarations:
            module.remove_line(declarations[f"@{name}"])
    for name, line in sorted(lowering.declarations.items(), key=lambda each: each[1]):
        if name not in declarations:
            module.add(line)


def _mentions_matrices(function: Function) -> bool:
    return any(function.mentions(f"@{name}(") for name in _HELPERS)


@dataclass(frozen=True)
class Product:
    """A product of matrices of `elements`, added to `sums`: a pair of floats of this `type`.

    `left` and `right` are a lane's words of the matrices (_WORDS).
    """

    result: str
    type: str
    elements: str
    sums: tuple[str, str]
    left: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """Products added one after the other, of which only the last sum is used elsewhere.

    `parts` are the floats that one product passes to the next.
    """

    products: tuple[Product, ...]
    parts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Chains of the same key have the same right matrices."""
        words = (word for each in self.products for word in each.right)
        return (self.products[0].elements, *words)

    @property
    def members(self) -> tuple[str, ...]:
        """All values that only the chain uses, and its result."""
        return (*(each.result for each in self.products), *self.parts)


def _product_of(instruction: Instruction) -> Product | None:
    """Return the product that an instruction stands for, if it does. Raises IrError."""
    if not isinstance(instruction, CallInstruction) or not instruction.name.startswith(_ADD):
        return None
    elements = instruction.name.removeprefix(_ADD)
    words = [each.text for each in instruction.operands]
    count = _WORDS.get(elements)
    if count is None or len(words) != 2 + 2 * count or not instruction.result:
        raise IrError(f"no product of matrices: {instruction.text.strip()!r}")
    x, y, *words = words
    left, right = tuple(words[:count]), tuple(words[count:])
    return Product(instruction.result, str(instruction.type), elements, (x, y), left, right)


def _find_chains(instructions: Iterable[Instruction], uses: Counter[str]) -> list[Chain]:
    """Return the chains of a block."""
    parts: dict[str, tuple[str, tuple[int, ...]]] = {}
    found: dict[str, Chain] = {}
    for instruction in instructions:
        if isinstance(instruction, Part) and instruction.opcode == "extractvalue":
            parts[instruction.result] = instruction.operands[0].text, instruction.indices
        each = _product_of(instruction)
        if each is None:
            continue
        before = found.get(_find_origin(each, parts, uses))
        if before and before.products[0].elements == each.elements:
            del found[before.products[-1].result]
            found[each.result] = Chain((*before.products, each), (*before.parts, *each.sums))
        else:
            found[each.result] = Chain((each,))
    return list(found.values())


def _find_origin(
    product: Product, parts: Mapping[str, tuple[str, tuple[int, ...]]], uses: Counter[str]
) -> str:
    """Return the product whose sums this one takes, if nothing else uses them; else ""."""
    x, y = (parts.get(each, ("", ())) for each in product.sums)
    alone = uses[product.sums[0]] == uses[product.sums[1]] == 1 and uses[x[0]] == 2
    return x[0] if alone and x == (y[0], (0,)) and y == (x[0], (1,)) else ""


def _pair_chains(chains: Sequence[Chain]) -> list[tuple[Chain, ...]]:
    """Return chains in groups of two with the same right matrices, and the others alone."""
    waiting: dict[tuple[str, ...], Chain] = {}
    pairs: list[tuple[Chain, ...]] = []
    for chain in chains:
        other = waiting.pop(chain.key, None)
        if other is None:
            waiting[chain.key] = chain
        else:
            pairs.append((other, chain))
    return pairs + [(chain,) for chain in waiting.values()]


class _Lowering:
    """Lowers functions of a module; `declarations` are of the intrinsics that they then call."""

    def __init__(self) -> None:
        self.declarations: dict[str, str] = {}
        self._products = 0
        self._groups = 0
        self._lanes = matrix_words.Lanes()

    def lower(self, function: Function) -> None:
        """Replace all calls that stand for matrices in a function."""
        # Instructions change places, which numbers as names do not allow.
        function.name_unnamed("v")
        self._lanes = matrix_words.Lanes()
        uses = Counter(name for _, each in function.instructions for name in each.names)
        definitions = function.definitions()
        for block in function.blocks.values():
            operands = self._multiply(block, uses)
            self._read_words(block, definitions, operands)
        entry = function.entry
        entry.instructions = [*map(lazy_instruction, self._lanes.lines), *entry.instructions]
        function.forget_derived()

    def _multiply(self, block: BasicBlock, uses: Counter[str]) -> Sequence[tuple[str, ...]]:
        """Replace the products of a block; return the operands of the instructions made of them."""
        chains = _find_chains(block.instructions, uses)
        if not chains:
            return ()
        first = sum(1 for _ in block.phis)
        last = len(block.instructions) - isinstance(block.instructions[-1], Terminator)
        inner = block.instructions[first:last]
        groups, order = _order_with_groups(inner, _pair_chains(chains))
        made: list[Instruction] = []
        operands: dict[tuple[str, ...], None] = {}
        for number in order:
            if number < len(inner):
                made.append(inner[number])
                continue
            writer = ProductWriter(groups[number - len(inner)], self._products)
            self._products += 1
            self.declarations |= writer.declarations
            operands |= writer.operands
            made += map(lazy_instruction, writer.lines)
        block.instructions[first:last] = made
        return list(operands)

    def _read_words(
        self,
        block: BasicBlock,
        definitions: Mapping[str, Instruction],
        operands: Sequence[tuple[str, ...]],
    ) -> None:
        """Replace the calls of a block for words of matrices."""
        if not any(map(is_matrix_word, block.instructions)):
            return
        groups = matrix_words.find_groups(block.instructions, definitions, operands)
        grouped = {result for group in groups.values() for result in group.results}
        made: list[Instruction] = []
        for at, each in enumerate(block.instructions):
            lines: list[str] = []
            if at in groups:
                lines = matrix_words.read_group(groups[at], self._lanes, self._groups)
                self._groups += 1
            elif not is_matrix_word(each):
                made.append(each)
            elif each.result not in grouped:
                lines = matrix_words.lower_word(each, definitions)
            for line in map(lazy_instruction, lines):
                made.append(line)
                if isinstance(line, CallInstruction):
                    self.declarations[line.callee] = matrix_words.DECLARATIONS[line.callee]
        block.instructions = made


def _order_with_groups(
    instructions: Sequence[Instruction], groups: list[tuple[Chain, ...]]
) -> tuple[list[tuple[Chain, ...]], list[int]]:
    """Return the groups that can stand together, and the order of a block with them."""
    at = {each.result: i for i, each in enumerate(instructions) if each.result}
    while True:
        members = [
            frozenset(at[name] for chain in group for name in chain.members) for group in groups
        ]
        try:
            return groups, order_instructions(instructions, members)
        except CycleError as cycle:
            group = groups.pop(int(cycle.args[0]) - len(instructions))
            if len(group) > 1:
                groups += [(chain,) for chain in group]
            else:
                groups += [(Chain((each,)),) for each in group[0].products]


class ProductWriter:
    """Writes the instructions that one or two chains become."""

    def __init__(self, group: Sequence[Chain], number: int) -> None:
        self._chains = group
        self._elements = group[0].products[0].elements
        self._stem = f"%mb.product.{number}."
        self._sums = [list(chain.products[0].sums) for chain in group]
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        # Words that one instruction takes in neighbouring registers, each sequence once.
        self.operands: dict[tuple[str, ...], None] = {}
        self._make()

    def _value(self, text: str) -> str:
        name = f"{self._stem}{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _make(self) -> None:
        if self._elements == "floats":
            self._make_floats()
        else:
            self._make_halves()
        for chain, (x, y) in zip(self._chains, self._sums, strict=True):
            last = chain.products[-1]
            half = self._value(f"insertvalue {last.type} poison, float {x}, 0")
            text = f"insertvalue {last.type} {half}, float {y}, 1"
            self.lines.append(f"  {last.result} = {text}")

    def _make_halves(self) -> None:
        """Sum in the tensor core."""
        length = len(self._chains[0].products)
        for at in range(0, length, 2):
            self._multiply(at, min(2, length - at))

    def _make_floats(self) -> None:
        """Sum `SUMMED` products in the tensor core, and then add them."""
        length = len(self._chains[0].products)
        partial = ""
        for at in range(length):
            partial = self._multiply_floats(at, partial)
            if (at + 1) % (SUMMED // 8) == 0 or at + 1 == length:
                self._add(partial)
                partial = ""

    def _multiply(self, at: int, step: int) -> None:
        """Add the product at `at` of each chain, and the next one if `step` is 2, to the sums."""
        name, kind = _TYPES[self._elements]
        left = []
        for k in range(at, at + step):
            words = [word for chain in self._chains for word in chain.products[k].left]
            left += [*words, "0"][:2]
        right = [word for k in range(at, at + step) for word in self._chains[0].products[k].right]
        self.operands |= dict.fromkeys([tuple(each for each in left if each != "0"), tuple(right)])
        taken = [f"{kind} {self._as(kind, each)}" for each in (*left, *right)]
        old = [each for sums in self._sums for each in sums]
        made = self._call(f"m16n8k{8 * step}.row.col.{_SUFFIX[name]}", taken, old)
        for i, sums in enumerate(self._sums):
            sums[:] = [self._part(made, 2 * i + j) for j in range(2)]

    def _multiply_floats(self, at: int, partial: str) -> str:
        """Add the product at `at` of each chain to a partial sum, products of low parts first."""
        lefts = [chain.products[at].left for chain in self._chains]
        right = self._chains[0].products[at].right
        for of_left, of_right in ((_LOW, _HIGH), (_HIGH, _LOW), (_HIGH, _HIGH)):
            words = [[*(left[i] for left in lefts), "0"][:2] for i in of_left]
            taken = [*words[0], *words[1], *(right[i] for i in of_right)]
            old = [self._part(partial, i) for i in range(4)] if partial else []
            partial = self._call("m16n8k8.row.col.tf32", [f"i32 {each}" for each in taken], old)
        return partial

    def _part(self, sums: str, number: int) -> str:
        return self._value(f"extractvalue {_FLOATS} {sums}, {number}")

    def _call(self, name: str, taken: list[str], sums: list[str]) -> str:
        """Write an instruction that adds to `sums`, and to zero where there are fewer than four."""
        taken = [*taken, *(f"float {each}" for each in [*sums, *["0.0"] * 4][:4])]
        instruction = f"@llvm.nvvm.mma.{name}"
        parameters = ", ".join(each.rpartition(" ")[0] for each in taken)
        self.declarations[instruction] = f"declare {_FLOATS} {instruction}({parameters})"
        return self._value(f"call {_FLOATS} {instruction}({', '.join(taken)})")

    def _as(self, kind: str, word: str) -> str:
        if kind == "i32":
            return word
        return "zeroinitializer" if word == "0" else self._value(f"bitcast i32 {word} to {kind}")

    def _add(self, partial: str) -> None:
        for i, sums in enumerate(self._sums):
            for j, old in enumerate(sums):
                part = self._part(partial, 2 * i + j)
                sums[j] = self._value(f"fadd float {old}, {part}")
