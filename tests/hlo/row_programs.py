"""Draw random programs on rows: reductions, elementwise operations, and others between them."""

from __future__ import annotations

import random

import numpy as np

KINDS = ("reduce", "reduce", "spread", "spread", "map", "map", "number", "break")


class _Drawn:
    """Operations in order, on tensors of all rows or with one number for each row."""

    def __init__(self, draw: random.Random, rows: int, width: int) -> None:
        self._draw = draw
        self.full, self.one, self._kept = (
            f"tensor<{each}xi32>" for each in (f"{rows}x{width}", rows, f"{rows}x1")
        )
        self.lines = [
            "%zero = stablehlo.constant dense<0> : tensor<i32>",
            "%least = stablehlo.constant dense<-2147483648> : tensor<i32>",
        ]
        self.wholes, self.numbers = ["%a", "%b"], []

    def add(self, name: str) -> None:
        """Add one more operation."""
        draw, kind = self._draw, self._draw.choice(KINDS)
        x = draw.choice(self.wholes[-4:])
        if kind == "reduce":
            self._reduce(name, x)
        elif kind == "spread" and self.numbers:
            self._spread(name, draw.choice(self.numbers))
        elif kind == "number" and self.numbers:
            pair = draw.choice(self.numbers), draw.choice(self.numbers)
            self.lines.append(f"{name} = stablehlo.subtract {', '.join(pair)} : {self.one}")
            self.numbers.append(name)
        elif kind == "break":
            self._whole(name, f"reverse {x}, dims = [1]")
        else:
            form = draw.choice(["add", "subtract", "maximum", "multiply", "xor"])
            self._whole(name, f"{form} {x}, {draw.choice(self.wholes)}")

    def _reduce(self, name: str, x: str) -> None:
        join, start = self._draw.choice([("add", "%zero"), ("maximum", "%least")])
        self.lines.append(
            f"{name} = stablehlo.reduce({x} init: {start}) applies stablehlo.{join} "
            f"across dimensions = [1] : ({self.full}, tensor<i32>) -> {self.one}"
        )
        self.numbers.append(name)

    def _spread(self, name: str, number: str) -> None:
        kept, form = self._kept, "stablehlo.broadcast_in_dim"
        self.lines += [
            f"{name}k = {form} {number}, dims = [0] : ({self.one}) -> {kept}",
            f"{name} = {form} {name}k, dims = [0, 1] : ({kept}) -> {self.full}",
        ]
        self.wholes.append(name)

    def _whole(self, name: str, made: str) -> None:
        self.lines.append(f"{name} = stablehlo.{made} : {self.full}")
        self.wholes.append(name)


def row_program(seed: int, length: int = 14) -> tuple[str, list[np.ndarray]]:
    """Return a program on 32-bit integers, whose sums are exact in any order, and its arguments."""
    draw = random.Random(seed)
    rows, width = draw.choice([1, 2, 5, 33]), draw.choice([32, 33, 45, 64, 300])
    drawn = _Drawn(draw, rows, width)
    for count in range(length):
        drawn.add(f"%v{count}")
    full, one = drawn.full, drawn.one
    returned = [(drawn.wholes[-1], full), *((each, one) for each in drawn.numbers[-1:])]
    returned += [(draw.choice(drawn.wholes), full)] * draw.randrange(2)
    types = ", ".join(each for _, each in returned)
    body = "\n  ".join(drawn.lines)
    text = f"""func.func @main(%a: {full}, %b: {full}) -> ({types}) {{
  {body}
  return {", ".join(each for each, _ in returned)} : {types}
}}"""
    generator = np.random.default_rng(seed)
    return text, [generator.integers(-9, 9, (rows, width), dtype="i4") for _ in range(2)]
