"""Random programs of rows: reductions, elementwise operations and what breaks their groups."""

from __future__ import annotations

import random

import numpy as np


def row_program(seed: int, length: int = 14) -> tuple[str, list[np.ndarray]]:
    """Text and arguments of a program on 32-bit integers, which every order adds up alike."""
    draw = random.Random(seed)
    rows, width = draw.choice([1, 2, 5, 33]), draw.choice([32, 33, 45, 64, 300])
    full, one, kept = (f"tensor<{each}xi32>" for each in (f"{rows}x{width}", rows, f"{rows}x1"))
    lines = [
        "%zero = stablehlo.constant dense<0> : tensor<i32>",
        "%least = stablehlo.constant dense<-2147483648> : tensor<i32>",
    ]
    wholes, numbers = ["%a", "%b"], []
    for count in range(length):
        name = f"%v{count}"
        kind = draw.choice(
            ["reduce", "reduce", "spread", "spread", "map", "map", "number", "break"]
        )
        x = draw.choice(wholes[-4:])
        if kind == "reduce":
            join, start = draw.choice([("add", "%zero"), ("maximum", "%least")])
            lines.append(
                f"{name} = stablehlo.reduce({x} init: {start}) applies stablehlo.{join} "
                f"across dimensions = [1] : ({full}, tensor<i32>) -> {one}"
            )
            numbers.append(name)
        elif kind == "spread" and numbers:
            number = draw.choice(numbers)
            lines += [
                f"{name}k = stablehlo.broadcast_in_dim {number}, dims = [0] : ({one}) -> {kept}",
                f"{name} = stablehlo.broadcast_in_dim {name}k, dims = [0, 1] : ({kept}) -> {full}",
            ]
            wholes.append(name)
        elif kind == "number" and numbers:
            pair = draw.choice(numbers), draw.choice(numbers)
            lines.append(f"{name} = stablehlo.subtract {', '.join(pair)} : {one}")
            numbers.append(name)
        elif kind == "break":
            lines.append(f"{name} = stablehlo.reverse {x}, dims = [1] : {full}")
            wholes.append(name)
        else:
            form = draw.choice(["add", "subtract", "maximum", "multiply", "xor"])
            lines.append(f"{name} = stablehlo.{form} {x}, {draw.choice(wholes)} : {full}")
            wholes.append(name)
    returned = [(wholes[-1], full), *((each, one) for each in numbers[-1:])]
    returned += [(draw.choice(wholes), full)] * draw.randrange(2)
    types = ", ".join(each for _, each in returned)
    body = "\n  ".join(lines)
    text = f"""func.func @main(%a: {full}, %b: {full}) -> ({types}) {{
  {body}
  return {", ".join(each for each, _ in returned)} : {types}
}}"""
    generator = np.random.default_rng(seed)
    return text, [generator.integers(-9, 9, (rows, width), dtype="i4") for _ in range(2)]
