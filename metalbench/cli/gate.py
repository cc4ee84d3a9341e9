"""``metalbench run``'s options that decide whether it fails, and what it is compared with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.failure import Failure
from metalbench.cli.interruption import INTERRUPTED
from metalbench.cli.result_sets import baseline_name, result_set
from metalbench.report.console import echo_workflow_command

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.comparison import ResultSet
    from metalbench.comparison.regression import Regression
    from metalbench.run.observed import Described
    from metalbench.run.runner import Outcome
    from metalbench.run.trial import Trial
    from metalbench.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])
FAILING = ("incorrect", "slower", "regression")


def share(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read 5% or 5 as 0.05."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d+(?:\.\d+)?) *%?", value.strip())
    if parts is None:
        raise click.BadParameter(f"expected a share such as 5%, got {value}", ctx, parameter)
    return float(parts[1]) / 100


def gate_options(command: Command) -> Command:
    """``--fail-on``, ``--max-regression``, ``--baseline`` and ``--save``."""
    for option in (
        click.option(
            "--save",
            metavar="NAME",
            callback=baseline_name,
            help="Keep the run under this name, for --baseline and `metalbench compare NAME`.",
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
            callback=share,
            help="Fail on kernels that take surely so much longer than before, such as 5%. "
            "Implies --fail-on regression.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(FAILING),
            multiple=True,
            help="Exit code 1 also if a kernel is slower than MLX, or than it was before; always "
            "if one is incorrect. Repeatable.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class Gate:
    """When a run fails; `allowed` is the share that a kernel may become slower by."""

    fail_on: tuple[str, ...] = ()
    allowed: float = 0.0
    baseline: ResultSet | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], device: Described) -> Gate:
        """Read the options, and the baseline before anything is measured.

        Raises click.UsageError if there is no such baseline, or it is of another device.
        """
        named, allowed = options["baseline"], options["max_regression"]
        implied = () if allowed is None else ("regression",)
        baseline = None if named is None else result_set(named, options["db"])
        here = f"{device.kind} ({device.name})"
        if baseline is not None and baseline.device != here:
            raise click.UsageError(
                f"--baseline {named}: expected results of {here}, got those of "
                f"{baseline.device}; such times do not compare"
            )
        return cls((*options["fail_on"], *implied), allowed or 0.0, baseline)

    @property
    def looks_back(self) -> bool:
        """Whether regressions are looked for."""
        return "regression" in self.fail_on or self.baseline is not None

    def regressions(self, store: Store, outcome: Outcome) -> list[Regression]:
        """Kernels that became slower, if that was asked; raises if runs do not compare."""
        from metalbench.comparison.regression import regressions

        if not self.looks_back or outcome.number is None or not outcome.results:
            return []
        return regressions(store, outcome.number, baseline=self.baseline, allowed=self.allowed)

    def exit_code(self, outcome: Outcome, found: Sequence[Regression]) -> int:
        """130 interrupted, 2 not all could be tried, 1 failed, 0 passed."""
        if outcome.ended == "interrupted":
            return INTERRUPTED
        if outcome.untried:
            return Failure.exit_code
        slower = "slower" in self.fail_on and any(map(_is_slower, outcome.results))
        regressed = "regression" in self.fail_on and bool(found)
        return int(not outcome.correct or slower or regressed)


def _is_slower(result: Any) -> bool:
    from metalbench.stats import Verdict

    return result.measurement is not None and result.measurement.verdict is Verdict.SLOWER


def tell_regressions(out: Console, found: Sequence[Regression]) -> None:
    """One line for each kernel that became slower."""
    from metalbench.report import numbers
    from metalbench.report.labels import label

    for each in found:
        ratio = numbers.ratio(each.judgement.ratio)
        line = f"Regression: {label(*each.key)}: {ratio} against {each.against}"
        out.print(line, style="bold red", soft_wrap=True)


def tell_no_regression(out: Console, gate: Gate) -> None:
    """Say that none was found, where one was looked for."""
    if gate.looks_back:
        before = gate.baseline.name if gate.baseline is not None else "its own past"
        more = f" of more than {100 * gate.allowed:.3g} %" if gate.allowed else ""
        out.print(f"No regression{more} against {before}", soft_wrap=True, highlight=False)


def annotate(
    outcome: Outcome, trials: Sequence[Trial], found: Sequence[Regression], *, to_stderr: bool
) -> None:
    """Within a job of GitHub's, say at which lines of the pull request something is wrong."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from metalbench.report.annotations import annotation_lines

    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()).absolute()
    files = {trial.entry.name: trial.kernel.path for trial in trials}
    for line in annotation_lines(outcome.results, found, files, root):
        echo_workflow_command(line, err=to_stderr)
