"""What error is allowed to kernels: by MLX's errors alone, and with the rounding model.

    python benchmarks/allowances.py softmax gelu

For every task of the library, the root mean square that is allowed at its small sizes, in units of
u rms(y) (u = 2^-24), for the first seeds: the range by MLX alone, the range with the model, and the
least error of arithmetic in bfloat16 as a multiple of what is allowed with the model.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from metalbench import reference
from metalbench.kernel.library import find
from metalbench.task.workload import Workload, workload
from metalbench.verify import small_sizes
from metalbench.verify.admission import admit
from metalbench.verify.tolerance import (
    ROUNDOFF,
    ErrorNorms,
    derive_tolerance,
    measure_error_norms,
    model_float32_errors,
)


def limit_errors(work: Workload, errors: dict[str, ErrorNorms]) -> list[float]:
    """Return what is allowed to each float output, in u rms(y); few elements have no rms."""
    found = []
    for name, each in errors.items():
        expected, kind = work.expected[name], work.task.outputs[name].type_in(work.dtype)
        finite = expected[np.isfinite(expected)]
        root = float(np.sqrt(np.square(finite).mean())) if kind.is_float and finite.size else 0.0
        bound = derive_tolerance(expected, each, kind)
        value = bound.rms if math.isfinite(bound.rms) else bound.fixed
        if root:
            found.append(value / root / ROUNDOFF)
    return found


def spread(values: list[float]) -> str:
    return f"{min(values):.3g} - {max(values):.3g}" if values else "exact"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tasks; else all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bfloat16", action="store_true", help="also try bfloat16 (slow)")
    arguments = parser.parse_args()
    table = Table("task", "by MLX", "with the model", "bfloat16", title="rms allowed / u rms(y)")
    for entry in find(arguments.names):
        before, after = [], []
        for size in small_sizes(entry.task):
            for seed in range(arguments.seeds):
                work = workload(entry.task, size, seed=seed)
                measured = {
                    name: measure_error_norms(work.expected[name], each, work.scale[name])
                    for name, each in reference.outputs(work).items()
                }
                before += limit_errors(work, measured)
                after += limit_errors(work, model_float32_errors(work, measured))
        coarse = ""
        if arguments.bfloat16:
            trials = [each for each in admit(entry.task) if "bfloat16" in each.candidate]
            coarse = f"{min(each.factor for each in trials):.3g}" if trials else ""
        table.add_row(entry.name, spread(before), spread(after), coarse)
        print(entry.name, spread(before), spread(after), coarse, file=sys.stderr, flush=True)
    Console(width=None if sys.stdout.isatty() else 100).print(table)


if __name__ == "__main__":
    main()
