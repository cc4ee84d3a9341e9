"""A line for everything that happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent_steel.attempt import Attempt, Status, Target, merit
from agent_steel.history.lineage import why
from metalbench.safe_text import json_text

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from agent_steel.history import History
    from agent_steel.history.history import ExchangeContext
    from agent_steel.loop import LoopResult, SearchResult
    from agent_steel.loop.settings import SearchSubject
    from agent_steel.proposal import Diagnosis, Exchange, Proposer, Usage
    from metalbench.stats import Interval


STYLES = {
    Status.KEPT: "green",
    Status.WRONG: "red",
    Status.BROKEN: "red",
    Status.UNUSABLE: "yellow",
    Status.UNDECIDED: "yellow",
}

# The name of an attempt without a readable answer.
NO_ANSWER = "no answer"


def outcome(attempt: Attempt, *, is_predicted: bool = False) -> str:
    """Describe the status of an attempt in one line; its ratio may be a prediction."""
    from metalbench.report import numbers

    how = ", predicted" if is_predicted else ""
    ratio = "" if attempt.ratio is None else f"{how} {numbers.ratio(attempt.ratio)}"
    if attempt.objectives:
        each_one = (f"{name} {numbers.ratio(each)}" for name, each in attempt.objectives.items())
        ratio += f" ({', '.join(each_one)})"
    if (steady := merit(Target.STABLE, attempt.ratio, attempt.steadiness)) != 1.0:
        ratio += f", {steady:.2g}x as steady"
    reason = "" if attempt.status in (Status.KEPT, Status.BASELINE) else f": {why(attempt)}"
    return f"{attempt.status.value}{ratio}{reason}"


def format_tunables(attempt: Attempt) -> str:
    """Return the technique of an attempt, with the values of its tunables."""
    from metalbench.store.result import format_tunables

    values = f" ({format_tunables(attempt.tunables)})" if attempt.tunables else ""
    # A summary is a sentence.
    name = attempt.technique or attempt.summary.rstrip(".") or NO_ANSWER
    return f"{name}{values}"


def format_usage(usage: Usage) -> str:
    """Return requests, tokens and cost in words; '' without requests."""
    if not usage.requests:
        return ""
    cost = "no price is known" if usage.cost is None else f"${usage.cost:.4f}"
    return f"{usage.requests} requests, {usage.tokens_in} tokens in, {usage.tokens_out} out: {cost}"


class ProgressPrinter:
    """A listener that prints progress. `usage` returns what the proposer has used so far."""

    def __init__(self, log: Console, usage: Callable[[], Usage]) -> None:
        self._log = log
        self._usage = usage

    def __enter__(self) -> ProgressPrinter:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: lines stay."""

    def on_start(self, subject: SearchSubject, best: Attempt, diagnosis: Diagnosis) -> None:
        """Print the bottleneck of the best version."""
        times = [each.value for each in diagnosis.facts if each.name == "time of one pass"]
        took = f"{times[0]}. " if times else ""
        self._say(subject, f"attempt {best.number} is the best so far: {took}{diagnosis.text}")

    def on_round_start(self, subject: SearchSubject, number: int, most: int) -> None:
        """Print the number of the round."""
        self._say(subject, f"round {number} of {most}")

    def on_message(self, subject: SearchSubject, text: str) -> None:
        """Print a message."""
        self._say(subject, text, style="bright_black")

    def on_judging(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Print nothing: the judgement follows."""

    def on_judgement(self, subject: SearchSubject, attempt: Attempt) -> None:
        """Print the status of an attempt."""
        became = outcome(attempt, is_predicted=subject.chip is not None)
        text = f"attempt {attempt.number}, {format_tunables(attempt)}: {became}"
        used = format_usage(self._usage())
        if used:
            text += f" ({used} so far)"
        self._say(subject, text, style=STYLES.get(attempt.status))

    def on_end(self, subject: SearchSubject, reason: str) -> None:
        """Print why the search ended."""
        self._say(subject, f"done: {reason}")

    def _say(self, subject: SearchSubject, text: str, style: str | None = None) -> None:
        self._log.print(f"[{subject.label}] {text}", style=style, soft_wrap=True)


# Requests to models.


def format_exchange(
    context: ExchangeContext, exchange: Exchange, attempt: Attempt | None
) -> tuple[str, dict[str, str]]:
    """Return the title of a request to a model, and its texts by name."""
    usage = exchange.usage
    became = "no kernel"
    if attempt is not None:
        became = f"attempt {attempt.number}, {format_tunables(attempt)}: {outcome(attempt)}"
    elif context.attempt is not None:
        became = f"attempt {context.attempt}"
    cost = "" if usage.cost is None else f", ${usage.cost:.4f}"
    title = (
        f"session {context.session}, round {context.round}, {became}\n"
        f"  {context.proposer} {context.model}, {exchange.asked_at}, {exchange.seconds:.1f} s, "
        f"{usage.tokens_in} tokens in, {usage.tokens_out} out{cost}"
    )
    if exchange.error:
        title += f"\n  not usable: {exchange.error}"
    texts = {"system": exchange.system, "prompt": exchange.prompt, "answer": exchange.answer}
    return title, texts


# The result of a session, as text and as JSON.

NUMBERS = ("tried", "kept", "gain", "steadier")


def report(
    ended: LoopResult,
    history: History,
    proposer: Proposer,
    console: Console,
    *,
    history_options: str = "",
    export_options: str = "",
) -> Group:
    """Return a row for every kernel, and what to do next.

    `history_options` and `export_options` are the options with which the commands `history` and
    `export` find the attempts of this session.
    """
    from rich.console import Group
    from rich.text import Text

    from metalbench.report.terminal import QUIET, WARNING, plain_table

    table = plain_table(terminal=console.is_terminal)
    for name in ("kernel", "dtype", "size", "tried", "kept", "gain", "steadier", "best", "ended"):
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    own = history.of_session(ended.session)
    for each in ended.searches:
        attempts = _of(each, own)
        best = format_tunables(each.best) if each.improved else "as it is"
        table.add_row(
            each.subject.entry.name,
            each.subject.dtype,
            each.subject.size,
            str(len(attempts)),
            str(sum(attempt.status is Status.KEPT for attempt in attempts)),
            f"{each.gain:.3g}x" if each.improved else "-",
            f"{each.steadiness:.2g}x" if each.improved and each.steadiness != 1.0 else "-",
            f"{each.best.number}: {best}",
            each.reason,
        )
    accounts = [Text(account) for each in ended.searches if (account := describe_tried(each, own))]
    wrong = [Text(f"Not tried: {each}", style=WARNING) for each in ended.untried]
    used = format_usage(proposer.usage)
    cost = [Text(f"{used}.", style=QUIET)] if used else []
    rows: list[Table | Text] = [table, Text(), *accounts]
    if not ended.searches:
        rows = [Text("No kernel was measured."), Text()]
    return Group(
        *rows, *wrong, *cost, *_next_steps(ended, history, history_options, export_options)
    )


def describe_tried(result: SearchResult, own: tuple[Attempt, ...]) -> str:
    """Return what a search tried, how that ended, and why it stopped; '' if it tried nothing."""
    from metalbench.report import numbers

    attempts = _of(result, own)
    if not attempts:
        return ""
    name = result.subject.label
    ends = Counter(each.status.value for each in attempts)
    ideas = Counter(each.technique or NO_ANSWER for each in attempts)
    text = f"{name}: {_list_counts(ends)}. Ideas: {_list_counts(ideas)}."
    others = [each for each in attempts if each.status is not Status.KEPT and each.ratio]
    nearest = max(others, key=lambda each: each.ratio.value if each.ratio else 0.0, default=None)
    if nearest is not None and nearest.ratio is not None:
        text += (
            f" The nearest to a gain that was not kept is attempt {nearest.number}, "
            f"{format_tunables(nearest)}: {numbers.ratio(nearest.ratio)}, {why(nearest)}."
        )
    return f"{text} It stopped: {result.reason}."


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.most_common())


def _next_steps(
    ended: LoopResult, history: History, history_options: str, export_options: str
) -> list[Any]:
    from rich.text import Text

    from metalbench.report.terminal import QUIET

    improved = [each.subject for each in ended.searches if each.improved]
    lines = [f"Session {ended.session}, {ended.reason}. Kept in {history.path}"]
    if improved:
        name = improved[0].entry.name
        lines.append(
            f"`agent_steel history {name}{history_options}` shows what was tried, "
            f"`agent_steel export {name} --out {name}.best.metal{export_options}` writes the best "
            "version."
        )
    chips = sorted(
        {chip.name for each in improved for chip in (each.chip, *each.others) if chip is not None}
    )
    if improved and improved[0].others:
        lines.append(
            "A gain is the geometric mean over the objectives, as `agent_steel history` shows them."
        )
    if chips:
        lines.append(
            f"Gains on {', '.join(chips)} are predicted by a model, and were not measured. "
            "`metalbench run` on a Mac measures them."
        )
    elif improved:
        lines.append("A gain is the product of ratios that were each confirmed in pairs.")
    if any(each.device.simulated and each.chip is None for each in improved):
        lines.append("Times are host times of a simulation: faster here says nothing about a GPU.")
    return [Text(line, style=QUIET) for line in lines]


def _of(result: SearchResult, attempts: tuple[Attempt, ...]) -> list[Attempt]:
    subject = result.subject
    same = (subject.entry.name, subject.dtype, subject.size)
    return [
        each
        for each in attempts
        if (each.task, each.dtype, each.size) == same and each.status is not Status.BASELINE
    ]


def to_json(ended: LoopResult, history: History, proposer: Proposer) -> str:
    """JSON of a session.

    session, ended              its number, and why it ended
    interrupted                 whether --resume goes on
    usage                       {tokens_in, tokens_out, requests, cost}; cost null: not known
    untried                     [why a kernel was not tried]
    kernels                     [{task, dtype, size, predicted_for, ended, start, best, gain,
                                steadiness, attempts}]: numbers of attempts, the products of
                                confirmed ratios of times and of what scatters beyond chance, and
                                `as_json` of each
    """
    own = history.of_session(ended.session)
    usage = proposer.usage
    described = {
        "session": ended.session,
        "ended": ended.reason,
        "interrupted": ended.interrupted,
        "usage": {
            "tokens_in": usage.tokens_in,
            "tokens_out": usage.tokens_out,
            "requests": usage.requests,
            "cost": usage.cost,
        },
        "untried": list(ended.untried),
        "kernels": [
            {
                "task": each.subject.entry.name,
                "dtype": each.subject.dtype,
                "size": each.subject.size,
                "predicted_for": None if each.subject.chip is None else each.subject.chip.name,
                "ended": each.reason,
                "start": each.start.number,
                "best": each.best.number,
                "gain": each.gain,
                "steadiness": each.steadiness,
                "attempts": [as_json(attempt) for attempt in _of(each, own)],
            }
            for each in ended.searches
        ],
    }
    return json_text(described, indent=2, allow_nan=False) + "\n"


def as_json(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as JSON can hold it.

    `ratio` is {value, low, high} of its rival's time over its own, `steadiness` of their scatter.
    """
    usage = attempt.usage
    return {
        "number": attempt.number,
        "parent": attempt.parent,
        "rival": attempt.rival,
        "round": attempt.round,
        "fate": attempt.status.value,
        "technique": attempt.technique,
        "summary": attempt.summary,
        "tunables": dict(attempt.tunables),
        "ratio": _interval(attempt.ratio),
        "steadiness": _interval(attempt.steadiness),
        "objectives": {name: _interval(each) for name, each in attempt.objectives.items()},
        "error": attempt.error,
        "proposer": attempt.proposer,
        "model": attempt.model,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
        "source_key": attempt.source_key,
        "measured_from": attempt.measured_from,
        "measured_to": attempt.measured_to,
    }


def _interval(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None:
        return None
    low, high = (interval.low, interval.high) if interval.is_bounded else (None, None)
    return {"value": interval.value, "low": low, "high": high}
