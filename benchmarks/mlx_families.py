"""MLX's kernels on this engine: what of every family compiles, runs, and how far it is from mlx.

    python benchmarks/mlx_families.py [family ...]

Errors are relative to an element or to the root mean square of all, whichever is larger; the
largest of every type is shown. Families without one are those that are compiled only.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from mlx_kernels.bench import Bench, Outcome
from mlx_kernels.checks import CHECKS
from mlx_kernels.families import FAMILIES
from mlx_kernels.family import Family
from mlx_kernels.wheel import headers

from metalbench import _core

COLUMNS = {"": "exact", "float": "float", "half": "half", "bfloat16_t": "bfloat"}


def count_compiled(bench: Bench, family: Family) -> int:
    """Return how many of a family's kernels compile; says why the others do not."""
    count = 0
    for instance in family.instances:
        try:
            family.pipeline(bench.device, bench.headers, instance)
            count += 1
        except _core.Error as problem:
            print(f"{instance.name}: {problem}", file=sys.stderr)
    return count


def largest(outcomes: list[Outcome]) -> str:
    """Return a cell for every kind of result."""
    cells: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        cells[outcome.kind].append(outcome)
    texts = []
    for kind in COLUMNS:
        errors = [outcome.error for outcome in cells[kind]]
        if not errors:
            texts.append("")
        elif kind:
            texts.append(f"{max(errors):.1e}")
        else:
            texts.append("equal" if not any(errors) else "WRONG")
    return "".join(f"{text:>10}" for text in texts)


def main() -> None:
    wanted = sys.argv[1:]
    bench = Bench(_core.open(), headers())
    print(
        f"{'family':22}{'compile':>9}{'checked':>9}" + "".join(f"{c:>10}" for c in COLUMNS.values())
    )
    failed = 0
    for family in FAMILIES:
        if wanted and family.name not in wanted:
            continue
        outcomes = [o for of, function in CHECKS if of is family for o in function(bench)]
        failed += sum(not outcome.passed for outcome in outcomes)
        count = f"{count_compiled(bench, family)}/{len(family.instances)}"
        kernels = len({outcome.kernel for outcome in outcomes})
        print(f"{family.name:22}{count:>9}{kernels:>9}{largest(outcomes)}", flush=True)
    sys.exit(f"{failed} results are out of their bounds" if failed else 0)


if __name__ == "__main__":
    main()
