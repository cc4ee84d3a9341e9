"""Products of matrices as a tensor core's instructions.

A tensor core truncates as it sums. What that takes from a sum of products of halves or bfloats is
little beside how these have been rounded, and such are summed in it, as cuBLAS does.

It knows no floats but those of TF32, with 11 bits of a significand. A float is the sum of two of
them, and a product of floats is three products of such: all but that of the low parts. `SUMMED` of
these products an element are summed in it, and added to the rest as any float is: a long sum would
be off by more than one that rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.matrices.products import Chain

SUMMED = 16
_TYPES = {"halves": ("f16", "<2 x half>"), "bfloats": ("bf16", "i32")}
# Of a lane's two elements of a matrix of floats.
_HIGH, _LOW = (0, 1), (2, 3)
_FLOATS = "{ float, float, float, float }"


class Instructions:
    """What one or two chains become."""

    def __init__(self, group: Sequence[Chain], number: int) -> None:
        self._chains = group
        self._elements = group[0].products[0].elements
        self._stem = f"%mb.product.{number}."
        self._sums = [list(chain.products[0].sums) for chain in group]
        self.lines: list[str] = []
        self.declared: set[str] = set()
        # Words that one instruction takes side by side, each such row once.
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
        """Summed where they are multiplied."""
        length = len(self._chains[0].products)
        for at in range(0, length, 2):
            self._multiply(at, min(2, length - at))

    def _make_floats(self) -> None:
        """Summed apart, so many at a time."""
        length = len(self._chains[0].products)
        partial = ""
        for at in range(length):
            partial = self._multiply_floats(at, partial)
            if (at + 1) % (SUMMED // 8) == 0 or at + 1 == length:
                self._add(partial)
                partial = ""

    def _multiply(self, at: int, step: int) -> None:
        """The product at `at` of each chain, and the next if `step` is 2, on what there is."""
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
        """The product at `at` of each chain, on what there is: of the least parts first."""
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
        """An instruction that adds to so many sums of the four."""
        taken = [*taken, *(f"float {each}" for each in [*sums, *["0.0"] * 4][:4])]
        instruction = f"@llvm.nvvm.mma.{name}"
        parameters = ", ".join(each.rpartition(" ")[0] for each in taken)
        self.declared.add(f"declare {_FLOATS} {instruction}({parameters})")
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


# bfloat's are named without the types of what they add up.
_SUFFIX = {"f16": "f32.f32", "bf16": "bf16"}
