"""Options of ``metalbench run`` that decide whether it fails, and its baseline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.config import GateConfig
from metalbench.cli.failure import Failure
from metalbench.cli.interruption import INTERRUPTED
from metalbench.cli.parameters import parse_share
from metalbench.cli.result_sets import baseline_name, result_set
from metalbench.report.console import echo_workflow_command

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.comparison import ResultSet
    from metalbench.comparison.regression import Regression
    from metalbench.comparison.regression import RegressionOutcome as Regressions
    from metalbench.run.observed import Described
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial
    from metalbench.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
FAILING = ("incorrect", "slower", "regression", "inconclusive")


def gate_options(command: Command) -> Command:
    """``--fail-on``, ``--max-regression``, ``--baseline`` and ``--save``."""
    for option in (
        click.option(
            "--save",
            metavar="NAME",
            callback=baseline_name,
            help="Save the run under this name, for --baseline and `metalbench compare NAME`.",
        ),
        click.option(
            "--baseline",
            metavar="RUN",
            help="Look for regressions against this run: a saved name, run:12, latest, or a file "
            "of --json; else against each kernel's own past.",
        ),
        click.option(
            "--max-regression",
            metavar="PERCENT",
            callback=parse_share,
            help="Fail on kernels that are significantly slower than before by more than this, "
            "such as 5%. Implies --fail-on regression.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(FAILING),
            multiple=True,
            help="Exit code 1 also if a kernel is slower than MLX, or than it was before, or if it "
            "is inconclusive whether it became slower; always if one is incorrect. Repeatable.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Gate:
    """When a run fails. `allowed` is the fraction that a kernel may become slower by."""

    fail_on: tuple[str, ...] = ()
    allowed: float = 0.0
    baseline: ResultSet | None = None

    @classmethod
    def of(cls, config: GateConfig, db: Path | None, device: Described) -> Gate:
        """Read the baseline from its file or from the store `db`.

        Raises click.UsageError if there is no such baseline, or it is of another device.
        """
        named, allowed = config.baseline, config.max_regression
        implied = () if allowed is None else ("regression",)
        baseline = None if named is None else result_set(named, db)
        here = f"{device.kind} ({device.name})"
        if baseline is not None and baseline.device != here:
            raise click.UsageError(
                f"--baseline {named}: expected results of {here}, got those of "
                f"{baseline.device}; such times do not compare"
            )
        return cls((*config.fail_on, *implied), allowed or 0.0, baseline)

    @property
    def looks_back(self) -> bool:
        """Whether the run is compared with earlier ones."""
        asked = {"regression", "inconclusive"} & set(self.fail_on)
        return bool(asked) or self.baseline is not None

    def find_regressions(
        self, store: Store, outcome: Outcome, *, without: Sequence[int] = ()
    ) -> Regressions:
        """Return the regressions, if they were asked for; raise if runs do not compare."""
        from metalbench.comparison.regression import RegressionOutcome as Regressions
        from metalbench.comparison.regression import find_regressions

        if not self.looks_back or outcome.number is None or not outcome.results:
            return Regressions()
        return find_regressions(
            store,
            outcome.number,
            baseline=self.baseline,
            allowed=self.allowed,
            without=without,
        )

    def exit_code(self, outcome: Outcome, found: Regressions | None = None) -> int:
        """130 interrupted, 2 not all could be tried, 1 failed, 0 passed."""
        if outcome.ended == "interrupted":
            return INTERRUPTED
        if outcome.untried:
            return Failure.exit_code
        slower = "slower" in self.fail_on and any(map(_is_slower, outcome.results))
        regressed = found and "regression" in self.fail_on and found.regressed
        unclear = found and "inconclusive" in self.fail_on and found.inconclusive
        return int(bool(not outcome.correct or slower or regressed or unclear))


def _is_slower(result: Any) -> bool:
    from metalbench.stats import Verdict

    return result.measurement is not None and result.measurement.verdict is Verdict.SLOWER


def print_regressions(out: Console, gate: Gate, found: Regressions, *, quiet: bool) -> None:
    """Print regressions, inconclusive comparisons, and suspicions that were not confirmed."""
    for each in found.regressed:
        line = f"Regression: {_describe(each)}"
        if each.suspected is not None:
            line += "; measured twice"
        out.print(line, style="bold red", soft_wrap=True)
    for each in found.inconclusive:
        reason = f": {each.reason}" if each.reason else ""
        out.print(f"Inconclusive: {_describe(each)}{reason}", style="yellow", soft_wrap=True)
    if not gate.looks_back or quiet:
        return
    for each in found.cleared:
        line = f"Not confirmed: {_describe(each)}; measured again, it is not slower"
        out.print(line, soft_wrap=True, highlight=False)
    if not found.regressed and found.compared:
        before = gate.baseline.name if gate.baseline is not None else "its own past"
        more = f" of more than {100 * gate.allowed:.3g} %" if gate.allowed else ""
        line = f"No regression{more} against {before}"
        if found.inconclusive:
            from metalbench.report.numbers import count

            kernels = count(len(found.inconclusive), "kernel")
            line += f"; inconclusive for {kernels} of {found.compared}"
        out.print(line, soft_wrap=True, highlight=False)


def _describe(each: Regression) -> str:
    from metalbench.report import numbers
    from metalbench.report.labels import label

    source = ", source unchanged" if each.same_source else ""
    return (
        f"{label(*each.key)}: {numbers.ratio(each.judgement.ratio)} against {each.against}, its "
        f"own time {numbers.ratio(each.own.ratio)}{source}"
    )


def annotate(
    outcome: Outcome, trials: Sequence[Trial], found: Sequence[Regression], *, to_stderr: bool
) -> None:
    """In a GitHub Actions job, annotate the lines of the pull request that have faults."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from metalbench.report.annotations import annotation_lines

    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).absolute()
    files = {trial.entry.name: trial.kernel.path for trial in trials}
    for line in annotation_lines(outcome.results, found, files, root):
        echo_workflow_command(line, err=to_stderr)
