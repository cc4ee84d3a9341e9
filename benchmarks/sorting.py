"""Sorts by insertion and by merging on this machine: which lengths are better merged.

    python benchmarks/sorting.py [--device D]

Printed are the medians of both for lines of several lengths, and their ratio; `passes/lowering.py`
chooses by it.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from metalbench import hlo

SIZES = [(lines, size) for lines in (1, 8, 64) for size in (1024, 2048, 4096, 8192, 16384)]
TURNS = 7


def program(lines: int, size: int) -> str:
    kind = f"tensor<{lines}x{size}xf32>"
    return f"""func.func @main(%x: {kind}) -> {kind} {{
      %0 = "stablehlo.sort"(%x) ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1> }}) {{dimension = 1 : i64, is_stable = true}}
        : ({kind}) -> {kind}
      return %0 : {kind} }}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    device = parser.parse_args().device
    print(f"{'lines':>6}{'size':>8}{'-O 0':>12}{'-O 2':>12}{'ratio':>8}")
    for lines, size in SIZES:
        if lines * size > 300_000:
            continue
        x = np.random.default_rng(0).normal(size=(lines, size)).astype("f4")
        forms = [hlo.compile(program(lines, size), level=each, device=device) for each in (0, 2)]
        turns = []
        for _ in range(TURNS):
            times = []
            for form in forms:
                start = perf_counter()
                form(x)
                times.append(perf_counter() - start)
            turns.append(times)
        plain, chosen = np.median(turns, axis=0) * 1e3
        ratio = np.median([each[1] / each[0] for each in turns])
        print(f"{lines:6}{size:8}{plain:9.2f} ms{chosen:9.2f} ms{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
