"""``metalbench profile``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from metalbench.cli.options import (
    buffers_option,
    complete_names,
    dtype_option,
    file_task_option,
    include_option,
    kernels_option,
    seed_option,
    standard_option,
    writable_picture,
)
from metalbench.cli.output import is_taken, json_option, write_text
from metalbench.safe_text import json_text

# More points would not be legible.
TRACED = 20_000
EXAMPLES = """\b
Examples:
  metalbench profile softmax
  metalbench profile softmax --lines
  metalbench profile sqr_mm --size seed --chip m4
  metalbench profile softmax --size large --chip m2_pro --json -
  metalbench profile scan.metal --buffers inputs.npz
  metalbench profile my_norm.metal --task rms_norm
  metalbench profile softmax --json -
  metalbench profile transpose_2d --picture transpose.svg

\b
How to read it:
  reuse         how often each byte is read that is read: what caches or threadgroup
                memory could save
  transactions  lines of 128 bytes that the accesses of SIMD-groups touch; coalescing
                is how many they would need at best / how many they touch
  conflicts     turns in which lanes wait for a bank of threadgroup memory
  active lanes  below 100 %: lanes wait while others take a branch or a longer loop

\b
A FILE.metal says above its code what it takes, and how it is launched:
  // value: n = 1000
  // buffer: x float32 (n) normal
  // buffer: y float32 (n) output
  // dispatch: relu threads_in_grid=(n) threads=(256)
"""


@click.command(
    epilog=EXAMPLES, short_help="Count what a kernel does: bytes, conflicts, arithmetic."
)
@click.argument("kernel", metavar="NAME|FILE.metal", shell_complete=complete_names)
@click.option("--size", metavar="NAME", help="Size of the task; by default small.")
@file_task_option
@dtype_option(help="Element type; by default the kernel's first.")
@buffers_option
@click.option("--lines", is_flag=True, help="Print the source with the counts of each line.")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=writable_picture,
    metavar="FILE",
    help="Draw accesses by thread and time, and the busiest lines, as .svg.",
)
@click.option("--chip", metavar="NAME", help="Predict the time on an Apple GPU, such as m4_max.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.01),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time of the run.",
)
@seed_option("Of the inputs.", secret=False)
@json_option
@include_option
@standard_option
@kernels_option
def profile(kernel: str, **options: Any) -> None:
    """Count exactly what a kernel does: its accesses, barriers and arithmetic, line by line.

    The counts are of the source, as a GPU whose threads are lanes of SIMD-groups would do it: the
    same on every machine. The kernel runs on the cpu device, in a process that has nothing else.
    """
    from metalbench.errors import Unsupported
    from metalbench.profiling import profile as profile_kernel
    from metalbench.profiling.prediction import find_gpu_chip, predict_kernel, predict_profile
    from metalbench.profiling.profiler import estimate_time, find_chip, resolve_subject
    from metalbench.report.console import console
    from metalbench.report.prediction import prediction_text
    from metalbench.report.profile import annotate_source, estimate_text, profile_table

    chip = find_chip(options["chip"]) if options["chip"] else None
    gpu = find_gpu_chip(options["chip"]) if options["chip"] else None
    target = gpu.target if gpu is not None else None
    found = profile_kernel(
        kernel,
        size=options["size"],
        dtype=options["dtype"],
        buffers=options["buffers"],
        seed=options["seed"],
        folders=options["kernels"],
        include_dirs=options["include"],
        time_limit=options["time_limit"],
        traced=TRACED if options["picture"] else 0,
        target=target,
        task=options["task"],
        standard=options["standard"] or "",
    )
    if options["picture"] is not None:
        from metalbench.report.profile import draw

        draw(found, options["picture"])
    prediction, reason = None, ""
    if gpu is not None:
        read, task, size = resolve_subject(
            *(kernel, options["size"], options["buffers"], options["kernels"], target),
            task=options["task"],
            standard=options["standard"] or "",
        )
        read = replace(read, include_dirs=options["include"])
        try:
            prediction = predict_kernel(
                *(read, task, size, gpu),
                dtype_name=options["dtype"],
                seed=options["seed"],
                time_limit=options["time_limit"],
            )
        except Unsupported as error:
            prediction, reason = predict_profile(found, gpu), str(error)
    if options["json_file"] is not None:
        record = found.record()
        if prediction is not None:
            record["prediction"] = prediction.record()
        write_text(options["json_file"], json_text(record, indent=2) + "\n")
    if is_taken(options):
        return
    out = console()
    out.print(profile_table(found, terminal=out.is_terminal))
    if options["lines"]:
        out.print(annotate_source(found, terminal=out.is_terminal))
    if prediction is not None:
        out.print(prediction_text(prediction))
    if chip is not None:
        out.print(estimate_text(estimate_time(found, chip)))
    if reason:
        out.print(f"The prediction is from counts: {reason}")
