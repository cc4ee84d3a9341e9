"""Pages with everything that a page can show, and with hostile text."""

from __future__ import annotations

from dataclasses import replace

from example_results import CPU, GPU

from metalbench.report.page.model import Board, KernelRow, Page, RecordStep
from metalbench.stats import Interval

HOSTILE = "\"><img src=x onerror=alert(1)><script>alert(2)</script>'&\x00\x1b</pre></script>"
SOURCE = """// Twice the input.
// dispatch: twice  threads_in_grid=(n)  threads=(256)
#include <metal_stdlib>
kernel void twice(device const float4* x, device half* y, uint i [[thread_position_in_grid]]) {
  y[i] = half(2.5f * x[i].x);  // "a string" of a comment
}
"""


def about(value: float, share: float = 0.02) -> Interval:
    return Interval(value, value * (1 - share), value * (1 + share))


def row(task: str = "softmax", **changes: object) -> KernelRow:
    step = RecordStep("2030-01-02T03:04:05+00:00", about(2000.0), about(2.0), (), "ab" * 32, "run")
    gained = replace(
        step,
        accepted_at="2030-02-03T04:05:06+00:00",
        time_ns=about(1000.0),
        gains=(about(1.9), about(2.1)),
        origin="agent_steel",
    )
    whole = KernelRow(
        task=task,
        set="common",
        dtype="float32",
        size="seed",
        status="correct",
        kernel=f"{task}.metal",
        source=SOURCE,
        source_hash="cd" * 32,
        extents={"rows": 16, "cols": 1000},
        tunables={"TG": 128},
        time_ns=about(1000.0),
        reference_ns=about(2000.0),
        ratio=about(2.0),
        verdict="FASTER",
        gflops=about(50.0),
        gbytes_per_s=about(25.0),
        facts=(("MLX", "0.32"),),
        history=(gained, step),
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def records_page() -> Page:
    """Records of a GPU and, apart from them, of a simulation."""
    rows = (
        row("softmax"),
        row("Relu", time_ns=about(20.0), gflops=about(3.0), ratio=about(0.5), verdict="SLOWER"),
        row("gelu", time_ns=about(300.0), gflops=about(900.0), verdict="SAME", launch_bound=True),
        row(
            "copy",
            notes=("the machine is hot",),
            failures=("none",),
            time_ns=about(5e6),
            gflops=about(0.0, 0.0),
            verdict="INCONCLUSIVE",
        ),
        row("alone", time_ns=about(50.0), ratio=None, reference_ns=None, verdict=None),
    )
    simulated = Board(
        CPU,
        "vectors",
        (row("softmax", time_ns=about(1e6)),),
        without_peaks="not measured here",
    )
    return Page("MetalBench records", "What they are.", (Board(GPU, "", rows), simulated))


def hostile_page() -> Page:
    """A page of which every text tries to be more than text."""
    bad = row(
        HOSTILE,
        set=HOSTILE,
        dtype=HOSTILE,
        size=HOSTILE,
        kernel=HOSTILE,
        source=HOSTILE + SOURCE + "// " + HOSTILE + '\nconstant char* s = "' + HOSTILE + '";\n',
        source_hash=HOSTILE,
        extents={HOSTILE: 1},
        tunables={HOSTILE: 1},
        verdict=HOSTILE,
        clock=HOSTILE,
        notes=(HOSTILE,),
        failures=(HOSTILE,),
        facts=((HOSTILE, HOSTILE),),
        history=(
            RecordStep(HOSTILE, None, None, (), HOSTILE, HOSTILE),
            RecordStep(HOSTILE, None, None, (), HOSTILE, HOSTILE),
        ),
    )
    worse = replace(bad, status=HOSTILE, history=(), time_ns=None)
    device = replace(GPU, name=HOSTILE, chip=HOSTILE)
    boards = (Board(device, HOSTILE, (bad,)), Board(device, "", (worse,), (HOSTILE,)))
    return Page(HOSTILE, HOSTILE, boards)
