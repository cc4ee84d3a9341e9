"""Fit the model of Apple's GPUs on public records, and measure its errors on tasks left out.

    python benchmarks/apple_model.py M1_PRO.csv WORKS.json M2.csv [OPTION...]

M1_PRO.csv has times of variants of kernels, WORKS.json their simulated work
(benchmarks/apple_works.py). M2.csv has times and counts of kernels without sources. The parameters
are fitted on all tasks but one (of M2: all kernels but one, and all families but one), and errors
are those on the task that is left out. The last lines are the values for
metalbench/profiling/gpu_calibration.py.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.optimize import least_squares
from scipy.stats import spearmanr

from metalbench.profiling.counted_work import make_counted_work
from metalbench.profiling.gpu_calibration import CALIBRATION, COUNTED_CALIBRATION, Calibration
from metalbench.profiling.gpu_chips import GPU_CHIPS, GpuChip
from metalbench.profiling.gpu_timing import Parameters, WorkTable, predict_seconds
from metalbench.profiling.gpu_work import DispatchWork
from metalbench.report.chart import Axis, Curve, Dot, Key, Plot, write_svg

Array = np.ndarray[Any, np.dtype[np.float64]]
# What is fitted on variants: the others stay near their nominal values, because fits of more
# parameters order the variants of a task that is left out no better. The priors are the weights of
# deviations of logarithms.
FREE = ("scheduling", "norm", "dispatch_s", "command_buffer_s")
FREE_PRIOR, FIXED_PRIOR, M2_PRIOR = 1.0, 25.0, 0.1
# Errors of a task as a whole count less than those among its variants.
TASK_WEIGHT = 0.3
DIFFERENT = 1.2
# Quantiles of errors at this level cover about 90 % of a task that is left out, as the errors of a
# task are alike.
LEVEL = 0.94


@dataclass
class Records:
    """Measured times of command buffers, and the dispatches of each.

    `tasks` are left out together, `groups` are variants of one task and size.
    """

    chip: GpuChip
    names: list[str]
    tasks: Array
    groups: Array
    seconds: Array
    owners: Array
    times: Array
    works: list[DispatchWork]

    def __post_init__(self) -> None:
        self.table = WorkTable(self.works)

    def predict(self, vector: Array) -> Array:
        """Return the predicted seconds of each command buffer."""
        parameters = Parameters.from_vector(vector)
        each = predict_seconds(self.table, self.chip, parameters) * self.times
        found: Array = np.bincount(self.owners, each, minlength=len(self.names))
        return found + parameters.command_buffer_s


def find_reason(works: Sequence[dict[str, Any]] | None, own: Sequence[dict[str, Any]]) -> str:
    """Return why a record cannot be used: `own` are the works of its dispatches; '' if it can."""
    if works is None:
        return "there is no simulated work"
    errors = [each["error"] for each in (*works, *own) if "error" in each]
    if errors:
        return str(errors[0]).partition(":")[0]
    return "" if all(own) else "a dispatch was not simulated"


def read_m1_pro(records: Path, works: Path) -> Records:
    """Return the records whose dispatches all have their work; print how many have not, and why."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(records.read_text().splitlines()):
        found.setdefault(f"{row['candidate']}#{row['size']}", []).append(row)
    simulated = json.loads(works.read_text())
    names, tasks, groups, seconds, owners, times, all_works = [], [], [], [], [], [], []
    dropped: Counter[str] = Counter()
    for name, rows in found.items():
        by_function = {each["function"]: each for each in simulated.get(name, ())}
        own = [by_function.get(row["function"], {}) for row in rows]
        if reason := find_reason(simulated.get(name), own):
            dropped[reason] += 1
            continue
        for row, work in zip(rows, own, strict=True):
            owners.append(len(names))
            times.append(float(row["times"]))
            all_works.append(DispatchWork.from_record(work))
        names.append(name)
        tasks.append(rows[0]["task"])
        groups.append(f"{rows[0]['task']} {rows[0]['size']}")
        seconds.append(1e-6 * float(rows[0]["measured_us"]))
    click.echo(f"M1 Pro: {len(names)} of {len(found)} records have their work")
    for reason, count in dropped.most_common():
        click.echo(f"  {count} are dropped: {reason}")
    return Records(
        GPU_CHIPS["m1_pro"],
        names,
        *map(np.array, (tasks, groups, seconds, owners, times)),
        all_works,
    )


def read_m2(path: Path) -> Records:
    """Return the records of kernels by their counts; each is a task."""
    rows = list(csv.DictReader(path.read_text().splitlines()))
    names = [row["kernel"] for row in rows]
    works, seconds = [], []
    for row in rows:
        counts = {
            key: float(value) for key, value in row.items() if key not in ("kernel", "family")
        }
        works.append(make_counted_work(counts, counts["tgs"], counts["tgmem"]))
        seconds.append(1e-6 * counts["measured_us"])
    families = np.array([row["family"] for row in rows])
    number = np.arange(len(rows))
    return Records(
        GPU_CHIPS["m2"], names, np.array(names), families, np.array(seconds), number,
        np.ones(len(rows)), works,
    )  # fmt: skip


# Fits. Logarithms of parameters have a prior at their nominal values, and errors a robust loss.


def fit_variants(records: Records, chosen: Array) -> Array:
    """Return parameters for the order of variants, and less for the time of a task."""
    names = [each.name for each in fields(Parameters)]
    prior = np.array([FREE_PRIOR if name in FREE else FIXED_PRIOR for name in names])
    start = Parameters().vector()
    weights = np.ones(len(records.names))
    for task in set(records.tasks[chosen]):
        own = records.tasks == task
        weights[own] = 3 / math.sqrt((own & chosen).sum())

    def residuals(vector: Array) -> Array:
        errors = np.log(records.predict(vector) / records.seconds)
        centred = np.zeros_like(errors)
        for group in set(records.groups[chosen]):
            own = chosen & (records.groups == group)
            centred[own] = errors[own] - errors[own].mean()
        return np.concatenate(
            [
                (weights * centred)[chosen],
                TASK_WEIGHT * (weights * errors)[chosen],
                prior * (vector - start) / math.sqrt(len(start)),
            ]
        )

    return np.asarray(least_squares(residuals, start, loss="soft_l1", max_nfev=40).x)


def fit_times(records: Records, chosen: Array, prior: float = M2_PRIOR) -> Array:
    """Return parameters for the times themselves; outliers count little."""
    start = Parameters().vector()

    def residuals(vector: Array) -> Array:
        errors = np.log(records.predict(vector) / records.seconds)
        return np.concatenate([errors[chosen], prior * (vector - start)])

    found = least_squares(residuals, start, loss="cauchy", f_scale=0.2, max_nfev=60)
    return np.asarray(found.x)


def leave_out(records: Records, labels: Array, fit: Callable[[Records, Array], Array]) -> Array:
    """Return predictions of each label by parameters that were fitted on the others."""
    found = np.zeros(len(records.names))
    for label in sorted(set(labels)):
        out = labels == label
        found[out] = records.predict(fit(records, ~out))[out]
    return found


# Measures.


def order_variants(records: Records, predicted: Array, chosen: Array) -> tuple[float, float, float]:
    """Return the share of pairs in order, Spearman's mean, and the chosen / the best time."""
    pairs, ranks, best = [], [], []
    for group in sorted(set(records.groups[chosen])):
        own = np.flatnonzero(chosen & (records.groups == group))
        a, b = np.log(predicted[own]), np.log(records.seconds[own])
        upper = np.triu_indices(len(own), 1)
        first, second = (np.subtract.outer(each, each)[upper] for each in (a, b))
        different = np.abs(second) > math.log(DIFFERENT)
        pairs.append((np.sign(first) == np.sign(second))[different])
        ranks.append(spearmanr(a, b)[0])
        best.append(b[np.argmin(a)] - b.min())
    return float(np.concatenate(pairs).mean()), float(np.mean(ranks)), math.exp(np.mean(best))


def print_order(records: Records, predicted: Array, title: str) -> None:
    """Print the order of variants by task, and of all."""
    click.echo(f"\n{title}: {len(records.names)} records")
    click.echo(f"{'task':10s} pairs  Spearman  chosen/best  median error")
    everything = np.ones(len(records.names), bool)
    masks = [(task, records.tasks == task) for task in sorted(set(records.tasks))]
    for task, chosen in [*masks, ("all", everything)]:
        pairs, rank, best = order_variants(records, predicted, chosen)
        error = np.exp(np.median(np.abs(np.log(predicted / records.seconds)[chosen])))
        click.echo(f"{task:10s} {pairs:5.3f}  {rank:8.3f}  {best:11.3f}  {error:12.3f}")


def print_errors(records: Records, predicted: Array, title: str) -> None:
    """Print quantiles of the error factor."""
    errors = np.exp(np.abs(np.log(predicted / records.seconds)))
    rank = spearmanr(predicted, records.seconds)[0]
    click.echo(
        f"{title}: median error {np.median(errors):.3f}, 90 % within "
        f"{np.quantile(errors, 0.9):.3f}, {100 * (errors <= 1.6).mean():.1f} % within 1.6, "
        f"Spearman {rank:.3f}"
    )


def measure_coverage(
    records: Records, predicted: Array, labels: Array
) -> tuple[float, float, float]:
    """Return quantiles of log(measured / predicted), and the coverage with labels left out.

    The interval of a label is that of the errors of the others.
    """
    errors = np.log(records.seconds / predicted)
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    inside = []
    for label in set(labels):
        out = labels == label
        low, high = np.quantile(errors[~out], ends)
        inside += ((errors[out] >= low) & (errors[out] <= high)).tolist()
    low, high = np.quantile(errors, ends)
    return float(low), float(high), float(np.mean(inside))


def measure_pair_spread(records: Records, predicted: Array) -> float:
    """Return the standard deviation of errors of ratios of variants, from their quartiles."""
    errors = np.log(records.seconds / predicted)
    ratios = [
        np.subtract.outer(own, own)[np.triu_indices(len(own), 1)]
        for group in set(records.groups)
        for own in [errors[records.groups == group]]
    ]
    return float(np.quantile(np.abs(np.concatenate(ratios)), 0.683))


# Ablations: a mechanism is left out of the nominal model.


ABLATIONS: dict[str, Callable[[DispatchWork], DispatchWork]] = {
    "nothing: all mechanisms": lambda work: work,
    "latency of arithmetic": lambda work: replace(work, path_in_order=0.0, path_alu=0.0),
    "latency of loads": lambda work: replace(work, path_device=0.0, path_threadgroup=0.0),
    "arrays in thread memory": lambda work: replace(
        work, private_lines=0.0, path_private=0.0, private_bytes=0.0
    ),
    "spilled registers": lambda work: replace(
        work, spilled_lines=0.0, halves=min(work.halves, 256.0)
    ),
    "occupancy by registers": lambda work: replace(work, halves=32.0),
    "threadgroup memory": lambda work: replace(
        work, threadgroup_cycles=0.0, path_threadgroup=0.0, threadgroup_bytes=0.0
    ),
    "coalescing": lambda work: replace(
        work, l1_cycles=2 * (work.path_device + 1), device_lines=work.path_device + 1
    ),
    "L1 cache": lambda work: replace(work, l1_misses=1.0),
    "barriers": lambda work: replace(work, barriers=0.0),
    "complex operations": lambda work: replace(work, complex=0.0),
    "instruction cache": lambda work: replace(work, missed_code=0.0),
    "arithmetic only": lambda work: DispatchWork(
        work.threadgroups, work.simdgroups, slots=work.slots, complex=work.complex
    ),
    "memory traffic only": lambda work: DispatchWork(
        work.threadgroups,
        work.simdgroups,
        device_lines=work.device_lines,
        unique_read=work.unique_read,
        unique_written=work.unique_written,
    ),
}


def print_ablations(records: Records, vector: Array) -> None:
    """Print the order of variants without each mechanism, with the same parameters."""
    click.echo(f"\n{'without':24s} pairs  Spearman  chosen/best")
    everything = np.ones(len(records.names), bool)
    for name, change in ABLATIONS.items():
        changed = replace(records, works=[change(work) for work in records.works])
        predicted = changed.predict(vector)
        pairs, rank, best = order_variants(changed, predicted, everything)
        click.echo(f"{name:24s} {pairs:5.3f}  {rank:8.3f}  {best:11.3f}")


# Records that no parameters can explain: equal work and different times, or far from the others.
CONTRADICTION = 1.5
MOST_SHOWN = 3


def split_at_gap(seconds: Array) -> list[Array]:
    """Return times in the two groups with the largest ratio between them."""
    ordered = np.sort(seconds)
    if len(ordered) < 2:
        return [ordered]
    place = int(np.argmax(np.diff(np.log(ordered)))) + 1
    return [ordered[:place], ordered[place:]]


def describe_times(seconds: Array) -> str:
    """Return the ranges of the two groups of times, such as `3 of 8.0 to 9.1 us`."""
    return ", ".join(
        f"{len(each)} of {1e6 * each.min():.3g} to {1e6 * each.max():.3g} us"
        for each in split_at_gap(seconds)
    )


def find_equal_records(records: Records, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the records with equal work, by group: the fields `names` agree to three digits."""
    found: dict[str, list[int]] = {}
    for number in range(len(records.names)):
        own = np.flatnonzero(records.owners == number)
        work = [
            f"{(records.times[own] * getattr(records.table, name)[own]).sum():.3g}"
            for name in names
        ]
        found.setdefault(" ".join([str(records.groups[number]), *work]), []).append(number)
    return found


ALL_WORK = tuple(each.name for each in fields(DispatchWork))
ACCESSES = ("device_lines", "l1_cycles", "l1_misses", "unique_read", "unique_written",
            "threadgroup_cycles", "private_lines")  # fmt: skip


def print_equal_records(records: Records, names: Sequence[str], title: str) -> None:
    """Print the largest set of each group whose work is equal, and whose times are not."""
    click.echo(f"\n{title}: records with equal work whose times differ by {CONTRADICTION} or more")
    largest: dict[str, Array] = {}
    for numbers in find_equal_records(records, names).values():
        seconds, group = records.seconds[numbers], str(records.groups[numbers[0]])
        is_larger = len(seconds) > len(largest.get(group, ()))
        if is_larger and seconds.max() >= CONTRADICTION * seconds.min():
            largest[group] = seconds
    for group, seconds in sorted(largest.items()):
        click.echo(f"  {group}: {describe_times(seconds)}")


def print_worst(records: Records, predicted: Array) -> None:
    """Print the records whose measured time is the farthest from the prediction."""
    ratios = records.seconds / predicted
    for number in np.argsort(-np.abs(np.log(ratios)))[:MOST_SHOWN]:
        click.echo(
            f"  {records.names[number]}: measured {1e6 * records.seconds[number]:.4g} us, "
            f"{ratios[number]:.3g} times the prediction"
        )


def print_contradictions(
    variants: Records, variant_times: Array, kernels: Records, kernel_times: Array
) -> None:
    """Print the records that contradict the model, and the order without each task."""
    click.echo("\nM1 Pro, tasks left out: chosen/best of all tasks but")
    for task in sorted(set(variants.tasks)):
        best = order_variants(variants, variant_times, variants.tasks != task)[2]
        click.echo(f"  {task}: {best:.3f}")
    print_equal_records(variants, ALL_WORK, "M1 Pro, all work")
    print_equal_records(variants, ACCESSES, "M1 Pro, accesses")
    click.echo("\nM2: times of families")
    for family in sorted(set(kernels.groups)):
        seconds = kernels.seconds[kernels.groups == family]
        click.echo(f"  {family}: {len(seconds)} kernels, {describe_times(seconds)}")
    print_equal_records(kernels, ("unique_read", "unique_written"), "M2, traffic")
    click.echo("\nM2, kernels left out: the largest errors")
    print_worst(kernels, kernel_times)


# Colours of tasks and families, of matplotlib's "Set1" and "Dark2".
COLORS = ("#377eb8", "#e41a1c", "#4daf4a", "#ff7f00", "#984ea3", "#a65628", "#1b9e77", "#e6ab02",
          "#666666")  # fmt: skip


def draw(path: Path, title: str, measured: Array, predicted: Array, labels: Sequence[str]) -> None:
    """Write an SVG file with predicted against measured times on logarithmic axes."""
    measured_us, predicted_us = (1e6 * each for each in (measured, predicted))
    ends = [*measured_us.tolist(), *predicted_us.tolist()]
    across, up = (
        Axis.over_decades(name, ends) for name in ("measured time, us", "predicted time, us")
    )
    kinds = sorted(set(labels))
    colors = {kind: COLORS[number % len(COLORS)] for number, kind in enumerate(kinds)}
    plot = Plot(
        title,
        across,
        up,
        curves=[Curve([(across.low, up.low), (across.high, up.high)], "line-5")],
        dots=[
            Dot(x, y, fill=colors[label], radius=3)
            for x, y, label in zip(measured_us.tolist(), predicted_us.tolist(), labels, strict=True)
        ],
        legend=[Key(kind, fill=color) for kind, color in colors.items()],
        heading=title,
        width=668,
        height=480,
        right=178,
        top=36,
    )
    write_svg(path, [[plot]])


def format_parameters(vector: Array) -> str:
    """Return the parameters with three digits, as Python."""
    parameters = Parameters.from_vector(vector)
    values = (f"{each.name}={getattr(parameters, each.name):.3g}" for each in fields(parameters))
    return f"Parameters({', '.join(values)})"


def judge(variants: Records, kernels: Records) -> None:
    """Print the errors of the package's calibration, and the coverage of its intervals."""
    predicted = variants.predict(CALIBRATION.parameters.vector())
    print_order(variants, predicted, "M1 Pro, calibration of the package")
    print_interval(variants, predicted, CALIBRATION)
    predicted = kernels.predict(COUNTED_CALIBRATION.parameters.vector())
    print_errors(kernels, predicted, "\nM2, calibration of the package")
    print_interval(kernels, predicted, COUNTED_CALIBRATION)


def print_interval(records: Records, predicted: Array, calibration: Calibration) -> None:
    """Print the share of records in the interval of a calibration."""
    errors = np.log(records.seconds / predicted)
    inside = (errors >= calibration.low) & (errors <= calibration.high)
    click.echo(f"in the interval: {inside.mean():.3f}")


@click.command(help=__doc__)
@click.argument("m1_pro", type=click.Path(path_type=Path, exists=True))
@click.argument("works", type=click.Path(path_type=Path, exists=True))
@click.argument("m2", type=click.Path(path_type=Path, exists=True))
@click.option("--plot", type=click.Path(path_type=Path), help="Write two SVG files to this folder.")
@click.option("--ablation", is_flag=True, help="Print the table of mechanisms.")
@click.option("--contradictions", is_flag=True, help="Print records that the model cannot explain.")
@click.option("--frozen", is_flag=True, help="Fit nothing: judge the calibration of the package.")
def main(m1_pro: Path, works: Path, m2: Path, plot: Path | None, **options: bool) -> None:
    """Fit, and print the errors."""
    variants, kernels = read_m1_pro(m1_pro, works), read_m2(m2)
    if options["frozen"]:
        judge(variants, kernels)
        return
    nominal = Parameters().vector()
    print_order(variants, variants.predict(nominal), "M1 Pro, nominal parameters, nothing fitted")
    left_out = leave_out(variants, variants.tasks, fit_variants)
    print_order(variants, left_out, "M1 Pro, tasks left out")
    low, high, coverage = measure_coverage(variants, left_out, variants.tasks)
    spread = measure_pair_spread(variants, left_out)
    click.echo(f"interval {math.exp(low):.3f} to {math.exp(high):.3f}, coverage {coverage:.3f}")
    everything = np.ones(len(variants.names), bool)
    fitted = fit_variants(variants, everything)
    print_order(variants, variants.predict(fitted), "M1 Pro, fitted on all tasks")
    if options["ablation"]:
        print_ablations(variants, fitted)
    click.echo("")
    print_errors(kernels, kernels.predict(nominal), "M2, nominal parameters, nothing fitted")
    of_m2 = leave_out(kernels, kernels.tasks, fit_times)
    print_errors(kernels, of_m2, "M2, kernels left out")
    by_family = leave_out(kernels, kernels.groups, fit_times)
    print_errors(kernels, by_family, "M2, families left out")
    m2_low, m2_high, m2_coverage = measure_coverage(kernels, of_m2, kernels.tasks)
    click.echo(
        f"interval {math.exp(m2_low):.3f} to {math.exp(m2_high):.3f}, coverage {m2_coverage:.3f}"
    )
    click.echo(f"\nM1 Pro: {format_parameters(fitted)}")
    click.echo(f"  low {low:.3f}, high {high:.3f}, pair_spread {spread:.3f}")
    click.echo(f"M2: {format_parameters(fit_times(kernels, np.ones(len(kernels.names), bool)))}")
    click.echo(f"  low {m2_low:.3f}, high {m2_high:.3f}")
    if options["contradictions"]:
        print_contradictions(variants, left_out, kernels, of_m2)
    if plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
        draw(plot / "m1_pro.svg", "M1 Pro, tasks left out", variants.seconds, left_out,
             variants.tasks.tolist())  # fmt: skip
        draw(
            plot / "m2.svg", "M2, kernels left out", kernels.seconds, of_m2, kernels.groups.tolist()
        )


if __name__ == "__main__":
    main()
