"""``metalbench check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.options import (
    buffers_option,
    complete_names,
    dtype_option,
    file_task_option,
    include_option,
    kernels_option,
    read_tunables,
    seed_option,
    standard_option,
    writable,
)
from metalbench.cli.output import FILE, is_taken, json_option, write_text
from metalbench.report.console import echo

if TYPE_CHECKING:
    from metalbench.checking.findings import Findings

EXAMPLES = """\b
Examples:
  metalbench check softmax
  metalbench check softmax --tool race,sync --size seed
  metalbench check my_kernel --kernels ./my_kernels
  metalbench check scan.metal sort.metal
  metalbench check my_norm.metal --task rms_norm
  metalbench check scan.metal --buffers inputs.npz --sarif scan.sarif
  metalbench check scan.metal --tune BLOCK=64 --json -
  metalbench check softmax --device cuda --tool compute-sanitizer
  metalbench check softmax --device cuda --tool compute-sanitizer,race
  metalbench check softmax --tool performance

\b
Tools (all of the first five, unless --tool names some):
  mem         accesses outside buffers and threadgroup memory, wild pointers, writes to
              constants and inputs, misaligned addresses
  race        two threads at the same bytes with no barrier, fence or atomic in between
  init        reads of what nothing has written, elements of outputs that nothing writes
  sync        barriers that not every thread reaches, kernels that do not end
  arithmetic  divisions by zero, quotients that do not fit, failed assertions
  performance slow code on Apple's GPUs, without a run: arrays that stay in thread memory, many
              registers, strided accesses, bank conflicts, divergent branches, integer divisions,
              64-bit indices, large code, few threadgroups
  tensor      results that depend on the layout of cooperative tensors (Metal 4), which differs
              between generations of GPUs: runs the kernel with four legal layouts
  compute-sanitizer
              NVIDIA's, with --device cuda: mem, race, init and sync as the GPU itself runs it

\b
A FILE.metal says above its code what it takes, and how it is launched:
  // value: n = 1000                     also of a function constant with this name
  // buffer: x float32 (n) normal        or: uniform LOW HIGH, integers LOW HIGH,
  // buffer: y float32 (n) output            zeros, ones, iota; with `inout` behind it
  // dispatch: relu threads_in_grid=(n) threads=(256)   the kernel may write to it, too
  // struct: params uint32 count = 4, float32x2 scale = 1   a struct's members in order; with
  // struct: pairs (n) float32 a normal, int32 b iota       extents an array of structs
  // texture: t rgba8unorm (64, 32) uniform             or: output, scratch
  // tensor: t float16 (64, 32) normal     with `strides (40, 1)` before the contents, not dense

\b
A finding that is intended is allowed in a comment at its line, with the reason:
  x[0] = 1;  // check: allow same-value-race every thread writes 1

Exit codes: 0 no errors (there may be warnings), 1 errors, 2 wrong usage, or one does not compile.
"""


@click.command(epilog=EXAMPLES, short_help="Find faults of a kernel: races, bounds, ...")
@click.argument(
    "kernels_to_check",
    nargs=-1,
    required=True,
    metavar="NAME|FILE.metal...",
    shell_complete=complete_names,
)
@click.option(
    "--tool",
    "tools",
    metavar="TOOL",
    multiple=True,
    default=["all"],
    help="Kinds of findings: mem, race, init, sync, arithmetic, with commas; else all of these. "
    "Only by name: performance, tensor.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Device to check on; cuda, an NVIDIA GPU, needs --tool compute-sanitizer.",
)
@click.option(
    "--size",
    "sizes",
    metavar="NAME",
    multiple=True,
    help="Size of the task, such as seed; else its small ones. Repeatable.",
)
@file_task_option
@dtype_option(help="Element type; by default the kernel's first.")
@buffers_option
@click.option(
    "--tune",
    "tunables",
    metavar="NAME=VALUE",
    multiple=True,
    callback=read_tunables,
    help="Value of a `// tune:` line, else its first. Repeatable.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.01),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for one size; earlier findings are reported.",
)
@seed_option("Of the inputs.", secret=False)
@json_option
@click.option(
    "--sarif",
    "sarif_file",
    type=FILE,
    callback=writable,
    metavar="FILE",
    help="Write findings as SARIF, which code hosts show at the line; - is standard output.",
)
@include_option
@standard_option
@kernels_option
@click.pass_context
def check(ctx: click.Context, /, kernels_to_check: tuple[str, ...], **options: Any) -> None:
    """Run the checked build of each kernel and report all faults: line, thread, count.

    NAME is a kernel of the library or of --kernels; its task says what goes in. A FILE.metal needs
    no task. The kernel runs on the cpu device, in a process that has nothing else; the run goes on
    after a finding. On an NVIDIA GPU compute-sanitizer checks the kernel itself.
    """
    from metalbench.checking.check import check as check_kernel
    from metalbench.checking.sanitizer import check_sanitized, parse_sanitizer_tools
    from metalbench.errors import MachineError, MetalBenchError
    from metalbench.report.findings import findings_json, findings_text, to_sarif

    nvidias = parse_sanitizer_tools(options["tools"], options["device"])
    if nvidias is not None and options["task"] is not None:
        raise click.UsageError("--task: expected none with --tool compute-sanitizer")
    of_task = {} if options["task"] is None else {"task": options["task"]}
    checked = check_kernel if nvidias is None else check_sanitized
    taken = is_taken(options) or str(options["sarif_file"]) == "-"
    found: list[Findings] = []
    faults: list[str] = []
    for kernel in kernels_to_check:
        try:
            findings = checked(
                kernel,
                tools=nvidias or options["tools"],
                sizes=options["sizes"],
                dtype=options["dtype"],
                buffers=options["buffers"],
                tunables=options["tunables"],
                folders=options["kernels"],
                include_dirs=options["include"],
                standard=options["standard"] or "",
                seed=options["seed"],
                time_limit=options["time_limit"],
                **of_task,
            )
        except MachineError:
            raise
        except MetalBenchError as error:
            # One kernel that cannot be checked must not prevent the check of the others.
            if len(kernels_to_check) == 1:
                raise
            faults.append(kernel)
            echo(f"Error: {error}", err=True)
            continue
        found.append(findings)
        echo(findings_text(findings), nl=False, err=taken)
    if options["json_file"]:
        write_text(
            options["json_file"], findings_json(found, are_several=len(kernels_to_check) > 1)
        )
    if options["sarif_file"]:
        write_text(options["sarif_file"], to_sarif(found, Path.cwd()))
    if faults:
        raise CommandFailure(f"not checked: {', '.join(faults)}")
    ctx.exit(int(not all(each.passed for each in found)))
