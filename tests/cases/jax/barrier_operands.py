"""Barriers and reductions of many operands: each is right, or refused by name."""

import numpy as np

from metalbench import hlo
from metalbench.errors import Unsupported


def barrier(count):
    names = [f"%a{n}" for n in range(count)]
    types = ", ".join(["tensor<4xf32>"] * count)
    text = (
        f"func.func @main({', '.join(f'{each}: tensor<4xf32>' for each in names)})\n"
        f"-> ({types}) {{\n"
        f"%0:{count} = stablehlo.optimization_barrier {', '.join(names)} : {types}\n"
        f"return {', '.join(f'%0#{n}' for n in range(count))} : {types}\n}}"
    )
    found = hlo.compile(text, device="cpu")(*[np.full(4, n, "f") for n in range(count)])
    print("barrier", count, all((each == n).all() for n, each in enumerate(found)))


def reduction(count):
    operands, whole, one = [f"%a{n}" for n in range(count)], "tensor<4x3xf32>", "tensor<f32>"
    pairs = ", ".join(f"%{side}{n}: {one}" for side in "xy" for n in range(count))
    sums = "\n".join(f"%s{n} = stablehlo.add %x{n}, %y{n} : {one}" for n in range(count))
    text = (
        f"func.func @main({', '.join(f'{each}: {whole}' for each in operands)})\n"
        "-> tensor<4xf32> {\n"
        f"%z = stablehlo.constant dense<0.0> : {one}\n"
        f'%0:{count} = "stablehlo.reduce"({", ".join(operands + ["%z"] * count)}) ({{\n'
        f"^bb0({pairs}):\n{sums}\n"
        f"stablehlo.return {', '.join(f'%s{n}' for n in range(count))} : "
        f"{', '.join([one] * count)}\n"
        f"}}) {{dimensions = array<i64: 1>}} : ({', '.join([whole] * count + [one] * count)}) -> "
        f"({', '.join(['tensor<4xf32>'] * count)})\n"
        "return %0#1 : tensor<4xf32>\n}"
    )
    try:
        (found,) = hlo.compile(text, device="cpu")(*[np.full((4, 3), n, "f") for n in range(count)])
    except Unsupported as error:
        print("reduce", count, error)
    else:
        print("reduce", count, (found == 3).all())


for each in (3, 15, 20, 40):
    barrier(each)
reduction(3)
reduction(18)
