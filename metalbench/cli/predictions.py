"""``metalbench run --predict CHIP``: predicted times of the kernels that were correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metalbench.errors import MetalBenchError

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.kernel.header import Kernel
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.run.trial import Described, Trial
    from metalbench.store.result import Result


def print_predictions(
    out: Console,
    trials: Sequence[Trial],
    results: Sequence[Result],
    chip: GpuChip,
    device: Described,
) -> None:
    """Print the predicted time of each correct kernel, its interval and what limits it."""
    from metalbench.profiling.gpu_calibration import COVERAGE
    from metalbench.profiling.prediction import predict_kernel
    from metalbench.report.numbers import short_time
    from metalbench.report.terminal import plain_table
    from metalbench.store.result import Status

    own = {(each.entry.name, each.dtype, each.size_on(device)): each for each in trials}
    table = plain_table(terminal=out.is_terminal)
    table.add_column("kernel")
    table.add_column(f"predicted on {chip.name}", justify="right")
    table.add_column(f"{100 * COVERAGE:.0f} % interval", justify="right")
    table.add_column("limited by")
    for result in results:
        case = result.case
        trial = own.get((case.task, case.dtype, case.size))
        if trial is None or result.status is not Status.CORRECT or trial.kernel.is_python:
            continue
        try:
            found = predict_kernel(
                *(find_kernel_of_chip(trial, device, chip), trial.entry.task, case.size, chip),
                dtype_name=case.dtype,
                tunables=None if trial.tuning else trial.tunables,
            )
        except MetalBenchError as error:
            table.add_row(case.task, "-", "", str(error).partition("\n")[0])
            continue
        low, middle, high = (
            short_time(1e9 * each) for each in (found.low_s, found.seconds, found.high_s)
        )
        limit = next(name for name in found.parts if name != "command buffer")
        table.add_row(case.task, middle, f"{low} to {high}", limit)
    out.print("\nPredictions, not measurements:")
    out.print(table)


def find_kernel_of_chip(trial: Trial, device: Described, chip: GpuChip) -> Kernel:
    """Return the kernel of a trial as it is on the chip: another file, other defaults.

    A candidate that is not the library's file keeps its text.
    """
    from metalbench.kernel.header import device_names

    if trial.kernel.path == trial.entry.kernel(device, dtype=trial.dtype).path:
        kernel = trial.entry.kernel(chip.target, dtype=trial.dtype)
        return replace(kernel, include_dirs=trial.kernel.include_dirs)
    return trial.kernel.on(device_names(chip.target))
