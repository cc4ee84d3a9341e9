"""Measure the margin of the library's kernels in verification.

    python benchmarks/honest_kernels.py --seeds 20

Verification only. For every seed of a run: the small sizes with every distribution, and the size
that this seed draws. In addition the strength of the check: the least error of a result computed
in bfloat16, as a multiple of the tolerance. A kernel of the library above 1, or arithmetic in
bfloat16 below 1, is a fault of the check.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from metalbench import _core
from metalbench.kernel.library import Entry, find
from metalbench.kernel.prepare import Builds
from metalbench.task.declaration import draw_size
from metalbench.verify import Report, VerifyPlan, small_sizes, verify, verify_checked
from metalbench.verify.admission import admit


def reports(device: _core.Device, entry: Entry, dtype: str, seeds: int) -> Iterator[Report]:
    kernel, task = entry.kernel(), entry.task
    for seed in range(seeds):
        options = {"dtype_name": dtype, "seed": seed}
        sizes = [*small_sizes(task), draw_size(task, seed)]
        # The first one as if it were timed: with spikes.
        yield verify(
            Builds(device, kernel, task), VerifyPlan(sizes=sizes, timed=sizes[0], **options)
        )
    yield verify_checked(Builds(device, kernel, task, dtype_name=dtype))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kernels; else all")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    device = _core.open("cpu")
    console = Console(width=None if sys.stdout.isatty() else 120)
    columns = ("kernel", "type", "comparisons", "rejected", "nearest", "bfloat16", "first finding")
    table = Table(*columns, title=f"{arguments.seeds} seeds, error / allowed")
    wrong = 0
    for entry in find(arguments.names):
        trials = [each for each in admit(entry.task) if each.candidate == "inputs in bfloat16"]
        coarse = f"{min(each.factor for each in trials):.3g}"
        for dtype in entry.kernel().dtypes:
            found = sum(reports(device, entry, dtype, arguments.seeds), Report())
            wrong += len(found.findings)
            nearest = f"{found.worst.ratio:.2f}" if found.worst else ""
            finding = escape(str(found.findings[0])[:200]) if found.findings else ""
            table.add_row(
                entry.name,
                dtype,
                str(len(found.comparisons)),
                str(len(found.findings)),
                nearest,
                coarse if dtype == "float32" else "",
                finding,
            )
            print(f"{entry.name} {dtype}: {nearest} {finding}", file=sys.stderr, flush=True)
    console.print(table)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
