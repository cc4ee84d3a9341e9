"""Comparison of two runs, as a table and as JSON.

JSON: one object.

    schema          1
    before, after   names of the two
    device, mode    of both
    geometric_mean  interval of the ratios, or null
    compared        list of
        task, dtype, size                   strings
        before_ns, after_ns, ratio          intervals; a ratio above 1 says that `after` is faster
        verdict      "FASTER", "SLOWER", "SAME", "INCONCLUSIVE" or "THROTTLED", of all together
        p_value      of a ratio as far from 1, were there no difference that counts
        reasons      [{cause, seen, remedy}]: of an INCONCLUSIVE verdict
        same_source  whether the kernel's text is the same
        by           "MLX", "time" or "pairs": what the ratio rests on
        between      {deviation, repeats}: standard deviation of the logarithms of runs of one
                     source beyond their intervals, which the ratio's interval allows for, and from
                     how many differences of runs it is; null of pairs
    left_out        [{kernel, reason}]
    incorrect       list of kernels of `after` without a ratio, for they are not correct in one:
        task, dtype, size                   strings
        before, after                       statuses; null if `before` has no such kernel
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from metalbench.compare.comparison import (
    BY_PAIRS,
    BY_REFERENCE,
    BY_TIME,
    CORRECT,
    ComparedKernel,
    IncorrectKernel,
    RunComparison,
)
from metalbench.report import numbers
from metalbench.report.export import interval_json
from metalbench.report.numbers import MISSING, label
from metalbench.report.summary import describe_coverage
from metalbench.report.terminal import (
    QUIET,
    STATUS_STYLES,
    VERDICT_STYLES,
    WARNING,
    fits_width,
    plain_table,
)
from metalbench.report.warnings import SIMULATION
from metalbench.safe_text import json_text, markdown_cell, markdown_text
from metalbench.stats import CONFIDENCE, FALSE_DISCOVERY_RATE, Verdict
from metalbench.stats.unpaired import ASSUMED_DEVIATION, ENOUGH_REPEATS, RunSpread
from metalbench.store.result import Status

SCHEMA = 1
RATIO = "before / after"
CHANGED = (Verdict.FASTER, Verdict.SLOWER)
# Kernels that are not correct now, that were not correct before either, or that are correct now.
BROKEN, STILL_BROKEN, REPAIRED = "BROKEN", "BROKEN as before", "REPAIRED"
RESTS_ON = {
    BY_REFERENCE: "Ratios are of each run's own ratio to MLX: a slower machine in one run cancels.",
    BY_TIME: (
        "Ratios of times of separate runs: other load and clock changes affect them. "
        "`metalbench compare NAME@REVISION` runs both in alternation."
    ),
    BY_PAIRS: "Both ran in pairs of random order, on the same inputs.",
}


def comparison_report(comparison: RunComparison, console: Console) -> Group:
    """Return the table of the kernels, the reasons of missing verdicts, and the geometric mean."""
    blocks: list[RenderableType] = []
    if comparison.compared or comparison.incorrect:
        blocks += [_table(comparison, console), Text()]
    blocks += [Text(line, style=WARNING) for line in _doubts(comparison)]
    blocks += [Text(line) for line in _summary(comparison)]
    blocks += [Text(line, style=QUIET) for line in _footnotes(comparison)]
    return Group(*blocks)


def changes(comparison: RunComparison) -> Group:
    """Return only the faster and slower kernels and those in one of both, and their counts."""
    found = [each for each in comparison.compared if each.judgement.verdict in CHANGED]
    lines = [
        Text(f"{label(each.task, each.dtype, each.size)}: ") + _ratio(each, " ")
        for each in sorted(found, key=lambda each: each.judgement.ratio.value)
    ]
    lines += [Text(line, style=WARNING) for line in _list_without_ratio(comparison)]
    lines += [Text(line) for line in _summary(comparison)]
    lines.append(Text(next(_footnotes(comparison)), style=QUIET))
    if comparison.device.startswith("cpu "):
        lines.append(Text(SIMULATION, style=QUIET))
    return Group(*lines)


def to_markdown(comparison: RunComparison, *, only_changes: bool = False) -> str:
    """Return a comparison as Markdown, for a pull request: the kernels that changed come first.

    The other kernels are folded, or left out with `only_changes`.
    """
    return "\n".join(_markdown_lines(comparison, only_changes=only_changes)) + "\n"


def _markdown_lines(comparison: RunComparison, *, only_changes: bool) -> Iterator[str]:
    yield "## MetalBench\n"
    yield from (f"{markdown_text(line)}  " for line in _summary(comparison))
    by_ratio = sorted(comparison.compared, key=lambda each: each.judgement.ratio.value)
    changed = [each for each in by_ratio if each.judgement.verdict in CHANGED]
    others = [each for each in by_ratio if each.judgement.verdict not in CHANGED]
    if changed or comparison.incorrect:
        yield from ("", *_markdown_table(comparison, changed, comparison.incorrect))
    if others and not only_changes:
        kernels = numbers.count(len(others), "kernel")
        yield f"\n<details><summary>{kernels} without a significant change</summary>\n"
        yield from (*_markdown_table(comparison, others), "\n</details>")
    for name, why in comparison.left_out:
        yield f"\n**{markdown_cell(name)}: left out**: {markdown_text(why)}."
    if comparison.is_itself:
        yield f"\n{markdown_text(_describe_itself(comparison))}"
    yield ""
    yield from (f"{markdown_text(line)}  " for line in _footnotes(comparison))


def _markdown_table(
    comparison: RunComparison,
    kernels: Sequence[ComparedKernel],
    incorrect: Sequence[IncorrectKernel] = (),
) -> Iterator[str]:
    sides = map(markdown_cell, (comparison.before, comparison.after))
    columns = ("task", "size", "dtype", "source", *sides, RATIO, "verdict")
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for one in incorrect:
        names = map(markdown_cell, (one.task, one.size, one.dtype))
        before, after = (markdown_cell(side) for side in _sides(one))
        verdict_cell = f"**{markdown_cell(_broken_word(one))}**" if one.is_broken else REPAIRED
        cells = (*names, MISSING, before, after, MISSING, verdict_cell)
        yield f"| {' | '.join(cells)} |"
    for each in kernels:
        verdict = each.judgement.verdict
        cells = (
            *map(markdown_cell, (each.task, each.size, each.dtype)),
            "same" if each.same_source else "changed",
            numbers.time(each.before_ns),
            numbers.time(each.after_ns),
            numbers.ratio(each.judgement.ratio),
            f"**{verdict.value}**" if verdict is Verdict.SLOWER else verdict.value,
        )
        yield f"| {' | '.join(cells)} |"


def to_json(comparison: RunComparison) -> str:
    """Return a comparison as the JSON described above."""
    mean = comparison.mean
    document = {
        "schema": SCHEMA,
        "before": comparison.before,
        "after": comparison.after,
        "device": comparison.device,
        "mode": comparison.mode,
        "geometric_mean": interval_json(mean),
        "compared": [_as_dict(each) for each in comparison.compared],
        "left_out": [{"kernel": name, "reason": why} for name, why in comparison.left_out],
        "incorrect": [
            {
                "task": each.task,
                "dtype": each.dtype,
                "size": each.size,
                "before": each.before,
                "after": each.after,
            }
            for each in comparison.incorrect
        ],
    }
    return json_text(document, indent=2) + "\n"


def _as_dict(each: ComparedKernel) -> dict[str, object]:
    return {
        "task": each.task,
        "dtype": each.dtype,
        "size": each.size,
        "before_ns": interval_json(each.before_ns),
        "after_ns": interval_json(each.after_ns),
        "ratio": interval_json(each.judgement.ratio),
        "verdict": each.judgement.verdict.value,
        "p_value": each.judgement.p_value,
        "reasons": [asdict(reason) for reason in each.judgement.reasons],
        "same_source": each.same_source,
        "by": each.by,
        "between": asdict(each.between) if each.between is not None else None,
    }


def _table(comparison: RunComparison, console: Console) -> Table:
    """Return a table with one line for each kernel, or two if the console is too narrow."""
    names = (comparison.before, comparison.after)
    wide = plain_table(terminal=console.is_terminal)
    for name in ("task", "dtype", "source", *names, RATIO):
        wide.add_column(name, no_wrap=True)
    narrow = plain_table(terminal=console.is_terminal, gap=1)
    narrow.add_column("task\nsource", no_wrap=True)
    for name in (*names, RATIO):
        narrow.add_column(name, overflow="fold")
    sizes = {each.size for each in comparison.compared}
    several = len(sizes | {each.size for each in comparison.incorrect}) > 1
    for one in comparison.incorrect:
        dtype = f"{one.dtype} {one.size}" if several else one.dtype
        status = Status.INCORRECT if one.is_broken else Status.CORRECT
        word = Text(_broken_word(one) if one.is_broken else REPAIRED, STATUS_STYLES[status])
        wide.add_row(one.task, dtype, MISSING, *_sides(one), word)
        below = [side.replace(" [", "\n[") for side in _sides(one)]
        narrow.add_row(f"{one.task}\n{dtype}", *below, word)
    for each in comparison.compared:
        dtype = f"{each.dtype} {each.size}" if several else each.dtype
        source = "same" if each.same_source else "changed"
        times = [numbers.time(side) for side in (each.before_ns, each.after_ns)]
        wide.add_row(each.task, dtype, source, *times, _ratio(each, " "))
        below = [time.replace(" [", "\n[") for time in times]
        narrow.add_row(f"{each.task}\n{source} {dtype}", *below, _ratio(each, "\n"))
    return wide if fits_width(wide, console) else narrow


def _sides(each: IncorrectKernel) -> tuple[str, str]:
    """Return the time of each side, or its status if it is not correct."""
    sides = ((each.before, each.before_ns), (each.after, each.after_ns))
    before, after = (
        numbers.time(time_ns) if status == CORRECT else status or MISSING
        for status, time_ns in sides
    )
    return before, after


def _broken_word(each: IncorrectKernel) -> str:
    return STILL_BROKEN if each.before not in (None, CORRECT) else BROKEN


def _describe_itself(comparison: RunComparison) -> str:
    return (
        f"{comparison.before} and {comparison.after} are the same run: it is compared with itself. "
        "`metalbench run` makes another."
    )


def _ratio(each: ComparedKernel, between: str) -> Text:
    verdict = each.judgement.verdict
    ratio = numbers.ratio(each.judgement.ratio).replace(" [", f"{between}[")
    return Text(f"{ratio} ").append(verdict.value, VERDICT_STYLES[verdict])


def _doubts(comparison: RunComparison) -> Iterator[str]:
    for each in comparison.compared:
        for reason in each.judgement.reasons:
            yield f"{each.task}: {each.judgement.verdict.value}: {reason}."
        verdict = each.judgement.verdict
        if each.same_source and verdict in (Verdict.FASTER, Verdict.SLOWER):
            cause = (
                "an error of the measurement: run it again"
                if each.by == BY_PAIRS
                else "of its headers, its task, the compiler or the machine"
            )
            yield f"{each.task}: its text is the same in both, so that {verdict.value} is {cause}."
    yield from _list_without_ratio(comparison)


def _list_without_ratio(comparison: RunComparison) -> Iterator[str]:
    """Yield the kernels that have no ratio, and why."""
    for each in comparison.incorrect:
        yield f"{label(each.task, each.dtype)}: {each.describe(comparison.before)}."
    for name, why in comparison.left_out:
        yield f"{name}: left out: {why}."
    if comparison.is_itself:
        yield _describe_itself(comparison)


def _summary(comparison: RunComparison) -> Iterator[str]:
    verdicts = [each.judgement.verdict for each in comparison.compared]
    counts = [f"{verdicts.count(each)} {each.value}" for each in Verdict if each in verdicts]
    broken = len(comparison.broken)
    repaired = len(comparison.incorrect) - broken
    counts += [f"{broken} {BROKEN}"] if broken else []
    counts += [f"{repaired} {REPAIRED}"] if repaired else []
    counts = counts or ["nothing to compare, for they have no kernel in common"]
    line = f"{comparison.after} against {comparison.before}: {', '.join(counts)}."
    mean, missing = comparison.mean, _not_in_mean(comparison)
    if mean is not None:
        total = sum(map(len, (comparison.compared, comparison.incorrect, comparison.left_out)))
        covered = describe_coverage(total, missing)
        line += f" Geometric mean of the ratios of {covered}: {numbers.ratio(mean)}."
    yield line


def _not_in_mean(comparison: RunComparison) -> list[str]:
    few = [each.task for each in comparison.compared if None in each.judgement.ratio.useful_ends]
    few += [each.task for each in comparison.incorrect]
    return [*few, *(name for name, _ in comparison.left_out)]


def _footnotes(comparison: RunComparison) -> Iterator[str]:
    yield (
        f"Device: {comparison.device}, {comparison.mode}. A ratio above 1 says that "
        f"{comparison.after} is faster; {100 * CONFIDENCE:g} % intervals."
    )
    yield from (RESTS_ON[by] for by in dict.fromkeys(each.by for each in comparison.compared))
    yield from _run_spread([each.between for each in comparison.compared if each.between])
    if len(comparison.compared) > 1:
        yield (
            f"Of FASTER and SLOWER at most {FALSE_DISCOVERY_RATE:.0%} are expected to be chance "
            "(Benjamini-Hochberg)."
        )
    if comparison.device.startswith("cpu "):
        yield SIMULATION


def _run_spread(spreads: Sequence[RunSpread]) -> Iterator[str]:
    """Yield the between-run deviation that the ratios' intervals include."""
    if not spreads:
        return
    widest = max(each.deviation for each in spreads)
    assumed = sum(each.is_assumed for each in spreads)
    line = f"Allowed for: runs of one source differ by up to {widest:.1%} beyond their intervals"
    if assumed:
        of = "" if assumed == len(spreads) else f" of {assumed} of {len(spreads)} kernels"
        line += (
            f"; {ASSUMED_DEVIATION:.0%} is the least{of}, which is assumed where fewer than "
            f"{ENOUGH_REPEATS + 1} runs are known"
        )
    yield f"{line}."
