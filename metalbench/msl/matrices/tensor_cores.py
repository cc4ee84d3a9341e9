"""Products of matrices as a tensor core's instructions.

A tensor core truncates as it sums, so that a long sum in it would be off by more than one that
rounds: `SUMMED` products an element are summed there, and added to the rest as any float is.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.msl.matrices.products import Chain

SUMMED = 32
_TYPES = {"halves": ("f16", "<2 x half>"), "bfloats": ("bf16", "i32")}
_FLOATS = "{ float, float, float, float }"


class Instructions:
    """What one or two chains become."""

    def __init__(self, group: Sequence[Chain], number: int) -> None:
        self._chains = group
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
        length = len(self._chains[0].products)
        partial, summed, at = "", 0, 0
        while at < length:
            step = 2 if length - at >= 2 else 1
            partial = self._multiply(at, step, partial)
            summed, at = summed + 8 * step, at + step
            if summed >= SUMMED or at == length:
                self._add(partial)
                partial, summed = "", 0
        self._finish()

    def _multiply(self, at: int, step: int, partial: str) -> str:
        """The product at `at` of each chain, and the next if `step` is 2, on what there is."""
        name, kind = _TYPES[self._chains[0].products[0].elements]
        left = []
        for k in range(at, at + step):
            words = [chain.products[k].left for chain in self._chains]
            left += [*words, "0"][:2]
        right = [self._chains[0].products[k].right for k in range(at, at + step)]
        self.operands |= dict.fromkeys([tuple(each for each in left if each != "0"), tuple(right)])
        taken = [f"{kind} {self._as(kind, each)}" for each in (*left, *right)]
        if partial:
            old = [self._value(f"extractvalue {_FLOATS} {partial}, {i}") for i in range(4)]
        else:
            old = ["0.0"] * 4
        taken += [f"float {each}" for each in old]
        instruction = f"@llvm.nvvm.mma.m16n8k{8 * step}.row.col.{_SUFFIX[name, step]}"
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
                part = self._value(f"extractvalue {_FLOATS} {partial}, {2 * i + j}")
                sums[j] = self._value(f"fadd float {old}, {part}")

    def _finish(self) -> None:
        for chain, (x, y) in zip(self._chains, self._sums, strict=True):
            last = chain.products[-1]
            half = self._value(f"insertvalue {last.type} poison, float {x}, 0")
            text = f"insertvalue {last.type} {half}, float {y}, 1"
            self.lines.append(f"  {last.result} = {text}")


# bfloat's are named without the types of what they add up.
_SUFFIX = {("f16", 1): "f32.f32", ("f16", 2): "f32.f32", ("bf16", 1): "bf16", ("bf16", 2): "bf16"}
