"""``metalbench compare``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.options import (
    MachineConfig,
    dtype_option,
    kernel_options,
    limit_options,
    result_set,
    seed_option,
    time_option,
)
from metalbench.cli.output import is_taken, json_option, markdown_option, write_text

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.compare.comparison import RunComparison
    from metalbench.compare.head_to_head import Match
    from metalbench.kernel.header import Kernel, TargetDevice
    from metalbench.kernel.library import Entry
    from metalbench.measure.measurement import Measurement

FAILING = ("slower", "inconclusive")

EXAMPLES = """\b
Examples:
  metalbench compare latest~1 latest
  metalbench compare run:12 --fail-on slower
  metalbench compare main
  metalbench compare before.json after.json --json -
  metalbench compare main --markdown "$GITHUB_STEP_SUMMARY"
  metalbench compare softmax@HEAD~3
  metalbench compare softmax@v1.0 softmax@HEAD --time 10
  metalbench compare softmax@HEAD~3 --predict m2_pro
"""


@click.command(epilog=EXAMPLES, short_help="Compare two runs, or a kernel with its past.")
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--fail-on",
    type=click.Choice(FAILING),
    multiple=True,
    help="Exit code 1 if some kernel has this verdict, or is not correct now. Repeatable.",
)
@dtype_option(default="float32", show_default=True, help="Element type, for NAME@REVISION.")
@click.option(
    "--size",
    metavar="NAME",
    help="Size, for NAME@REVISION; by default the headline size of the device.",
)
@seed_option("Seed of the inputs and of the order of samples, for NAME@REVISION.")
@time_option(5.0, "Longest time to sample, for NAME@REVISION.")
@click.option(
    "--predict",
    metavar="CHIP",
    help="Of NAME@REVISION: predict both times on an Apple GPU such as m2, and measure nothing.",
)
@json_option
@markdown_option
@limit_options
@kernel_options
@click.pass_context
def compare(ctx: click.Context, /, before: str, after: str | None, **options: Any) -> None:
    """Compare two runs kernel by kernel, or two versions of one kernel in turn.

    BEFORE and AFTER are each a file that `run --json` wrote, a run of the store (run:12, latest,
    latest~1, or the NAME of a `run --save NAME`), or a kernel at a revision of git (softmax@HEAD~1;
    without the revision as it is now). Without AFTER it is the latest run, or the kernel as it is
    now. A ratio above 1 says that AFTER is faster. Revisions are of the repository that the kernel
    lies in: of --kernels, or of the checkout of MetalBench that the current folder is in. The
    headers that the kernel includes are of the same revision; those outside of the repository are
    as they are now.

    Exit codes: 0; 1 by --fail-on, or if a version of the kernel is wrong; 2 wrong usage or
    environment; 130 interrupted.
    """
    kernels = [_is_kernel(name) for name in (before, after) if name is not None]
    if any(kernels) and not kernels[0]:
        raise click.UsageError(
            f"{after}: expected a run or a file as {before} is one; NAME@REVISION compares with "
            "NAME or another revision of it"
        )
    if options["predict"]:
        if not any(kernels):
            raise click.UsageError("--predict: expected NAME@REVISION, got runs")
        _predict(before, after, options)
        return
    measured = None
    if kernels[0]:
        result, measured = _compare_kernels(before, after, options)
    else:
        result = _compare_runs(before, after, options)
    _show(result, measured, options)
    ctx.exit(int(fails(result, options["fail_on"])))


def _is_kernel(name: str) -> bool:
    return "@" in name and not Path(name).exists()


def _compare_runs(before: str, after: str | None, options: dict[str, Any]) -> RunComparison:
    from metalbench.compare.comparison import compare

    older, newer = (
        result_set(each, options["db"], ["NAME@REVISION"]) for each in (before, after or "latest")
    )
    return compare(older, newer)


def _predict(before: str, after: str | None, options: dict[str, Any]) -> None:
    """Print the predicted times of two versions of a kernel, and which is faster."""
    from metalbench.profiling.prediction import (
        compare_predictions,
        find_gpu_chip,
        predict_kernel,
    )
    from metalbench.report.console import console
    from metalbench.report.numbers import short_time

    chip = find_gpu_chip(options["predict"])
    names = before, after or before.partition("@")[0]
    entry, headers = _find_entry(names[0].partition("@")[0], options["kernels"], chip.key)
    include = (*options["include"], *headers)
    out = console()
    found = []
    for name in names:
        kernel = _read_kernel(entry, name, chip.target, include)
        size = options["size"] or entry.task.headline
        each = predict_kernel(
            *(kernel, entry.task, size, chip), dtype_name=options["dtype"], seed=options["seed"]
        )
        low, high = (short_time(1e9 * end) for end in (each.low_s, each.high_s))
        out.print(
            f"{name} ({size}) on {chip.name}, predicted: {short_time(1e9 * each.seconds)} "
            f"[{low}, {high}]"
        )
        found.append(each)
    out.print(f"{names[1]} against {names[0]}: {compare_predictions(found[1], found[0])}.")


def _compare_kernels(
    before: str, after: str | None, options: dict[str, Any]
) -> tuple[RunComparison, Measurement]:
    from metalbench import _core
    from metalbench.compare.head_to_head import Match, WrongKernelError, build_comparison
    from metalbench.measure.measurement import Plan

    name = before.partition("@")[0]
    names = before, after or name
    if names[1].partition("@")[0] != name:
        raise click.UsageError(
            f"{after}: expected {name} or {name}@REVISION, for kernels of different tasks do not "
            "compare"
        )
    device = _core.open(options["device"])
    entry, headers = _find_entry(name, options["kernels"], device.chip)
    include = (*options["include"], *headers)
    older, newer = (_read_kernel(entry, each, device, include) for each in names)
    match = Match(
        entry,
        older,
        newer,
        names=names,
        dtype=options["dtype"],
        size=options["size"],
        plan=Plan(seconds=options["seconds"], seed=options["seed"]),
        knows_before=False,
        thorough=False,
    )
    _warn(device)
    try:
        measured = _play_match(device, match, options)
    except WrongKernelError as error:
        raise click.ClickException(str(error)) from error
    return build_comparison(match.contest(), measured, device), measured


def _play_match(device: Device, match: Match, options: dict[str, Any]) -> Measurement:
    """Play a match in a worker process; raise WrongKernelError."""
    from metalbench.cli.reporting import waiting
    from metalbench.compare.head_to_head import require_measurement, run_match
    from metalbench.report.console import console
    from metalbench.run.trial import Silent, device_facts

    class ShowProgress(Silent):
        def stage_progress(self, fraction: float) -> None:
            progress(fraction)

    title = " against ".join(match.names)
    with (
        MachineConfig.of(options).create_workers() as workers,
        waiting(console(to_stderr=True), title) as progress,
    ):
        return require_measurement(
            match, run_match(workers, device_facts(device), match, ShowProgress())
        )


def _find_entry(name: str, folders: tuple[Path, ...], chip: str | None) -> tuple[Entry, list[Path]]:
    """Return the task and its include folders.

    Both are of the checkout that contains the installed library, if there is one.
    """
    from metalbench.compare.revision import find_versioned_file
    from metalbench.kernel import library
    from metalbench.kernel.source_files import library_folder

    (entry,) = library.find([name], None, folders)
    path, installed = entry.kernel_path(chip), library_folder()
    found = find_versioned_file(path, installed)
    if found == path:
        return entry, []
    own = found.parents[len(path.relative_to(installed).parts) - 1]
    (entry,) = library.find([name], None, [own, *folders])
    return entry, [own / "include"]


def _read_kernel(
    entry: Entry, name: str, device: TargetDevice, include: tuple[Path, ...]
) -> Kernel:
    """Return the kernel that NAME or NAME@REVISION names."""
    from metalbench.compare.revision import read_kernel_at

    kernel = replace(entry.kernel(device), include_dirs=include)
    revision = name.partition("@")[2]
    path = kernel.path if kernel.variant else entry.kernel_path(device.chip)
    return read_kernel_at(kernel, path, revision) if revision else kernel


def _warn(device: Device) -> None:
    from metalbench.cli.machine import warn
    from metalbench.report.console import console

    warn(console(to_stderr=True), device)


def _show(comparison: RunComparison, measured: Measurement | None, options: dict[str, Any]) -> None:
    from metalbench.report.comparison import comparison_report, to_json, to_markdown
    from metalbench.report.console import console
    from metalbench.report.warnings import list_warnings

    out = console(to_stderr=is_taken(options))
    out.print(comparison_report(comparison, out))
    doubts = (*measured.doubts, *map(str, list_warnings(measured))) if measured else ()
    for each in doubts:
        out.print(f"Warning: {each.removesuffix('.')}.", style="yellow", soft_wrap=True)
    if options["json_file"]:
        write_text(options["json_file"], to_json(comparison))
    if options["markdown_file"]:
        write_text(options["markdown_file"], to_markdown(comparison))


def fails(comparison: RunComparison, failing: tuple[str, ...]) -> bool:
    """Return whether some kernel has a verdict that `--fail-on` names, or is not correct now."""
    from metalbench.stats import Verdict

    return bool(failing and comparison.broken) or any(
        comparison.has_verdict(Verdict(each.upper())) for each in failing
    )
