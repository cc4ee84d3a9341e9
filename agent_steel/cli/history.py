"""``agent_steel history``, ``show`` and ``diff``: what was tried."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metalbench.cli.parameters import complete_names, store_option
from metalbench.report.console import echo

if TYPE_CHECKING:
    from rich.tree import Tree

    from agent_steel.attempt import Attempt
    from agent_steel.history import History
    from agent_steel.history.lineage import Lineage


@click.command(short_help="What was tried with a kernel, as a tree.")
@click.argument("name", shell_complete=complete_names)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N best versions.")
@click.option(
    "--techniques", is_flag=True, help="Ideas, how often they were kept, why they failed."
)
@store_option
def history(name: str, top: int | None, techniques: bool, db: Path | None) -> None:
    """Show every attempt at a kernel under the one that it was made from."""
    from agent_steel.history import History
    from agent_steel.history.lineage import Lineage
    from metalbench.report.console import console
    from metalbench.store import Store, store_path

    out = console()
    with Store(store_path(db)) as store:
        kept = History(store)
        found = _lineages(kept, name)
        if not found:
            raise click.ClickException(
                f"{store.path} has no attempts at {name!r}; "
                f"`agent_steel --kernel-name {name} --loop` makes some"
            )
    for title, attempts in found.items():
        lineage = Lineage(attempts)
        out.print(title, style="bold", soft_wrap=True)
        if techniques:
            for line in _techniques(lineage):
                out.print(line, soft_wrap=True)
        elif top is not None:
            for line in _best(lineage, top):
                out.print(line, soft_wrap=True)
        else:
            for root in lineage.roots():
                out.print(_tree(lineage, root), soft_wrap=True)


def _lineages(history: History, name: str) -> dict[str, list[Attempt]]:
    """Attempts by what compares: device, element type and size."""
    found: dict[str, list[Attempt]] = {}
    for each in history.of_task(name):
        place = history.place(each.number)
        assert place is not None
        engine = f", {place.engine}" if place.engine else ""
        title = (
            f"{name} ({each.dtype}, {each.size}) on {place.device_kind} "
            f"({place.device_name}, {place.device_cores} cores{engine})"
        )
        found.setdefault(title, []).append(each)
    return found


def _tree(lineage: Lineage, root: Attempt) -> Tree:
    from rich.tree import Tree

    tree = Tree(_line(lineage, root), highlight=False)
    unfolded = [(tree, root)]
    while unfolded:
        branch, attempt = unfolded.pop()
        for child in lineage.children(attempt):
            unfolded.append((branch.add(_line(lineage, child)), child))
    return tree


def _line(lineage: Lineage, attempt: Attempt) -> str:
    from agent_steel.cli.progress import format_tunables, outcome
    from agent_steel.history.lineage import STANDING

    gain = f" = {lineage.gain(attempt):.3g}x in all" if attempt.status in STANDING else ""
    rival = f" against {attempt.rival}" if attempt.rival is not None else ""
    return f"{attempt.number} {format_tunables(attempt)}: {outcome(attempt)}{rival}{gain}"


def _best(lineage: Lineage, most: int) -> list[str]:
    from agent_steel.attempt import Status

    starts = [each for each in lineage.attempts.values() if each.status is Status.BASELINE]
    return [_line(lineage, each) for root in starts for each in lineage.top(root, most)]


def _techniques(lineage: Lineage) -> list[str]:
    failed = {each.name: reason for each, reason in lineage.failures()}
    return [
        f"{each.name}: tried {len(each.attempts)}, kept {each.kept}"
        + (f"; last: {failed[each.name]}" if each.name in failed else "")
        for each in lineage.techniques()
    ]


@click.command(short_help="One attempt: diagnosis, source, verdict.")
@click.argument("number", type=int, metavar="ID")
@store_option
def show(number: int, db: Path | None) -> None:
    """Show an attempt with its diagnosis, what became of it, and its source."""
    from agent_steel.cli.progress import outcome
    from metalbench.report.console import console
    from metalbench.result.tuning import format_tunables

    attempt = _attempt(number, db)
    out = console()
    lines = {
        "attempt": f"{attempt.number} of {attempt.task} ({attempt.dtype}, {attempt.size}), "
        f"session {attempt.session}, round {attempt.round}",
        "made from": "" if attempt.parent is None else str(attempt.parent),
        "measured against": "" if attempt.rival is None else str(attempt.rival),
        "proposer": " ".join(each for each in (attempt.proposer, attempt.model) if each),
        "technique": attempt.technique,
        "summary": attempt.summary,
        "tunables": format_tunables(attempt.tunables),
        "diagnosis": attempt.diagnosis,
        "in its words": attempt.wording,
        "outcome": outcome(attempt),
        "error": attempt.error if "\n" in attempt.error else "",
        "proposed": attempt.proposed_at,
        "judged": attempt.judged_at,
    }
    for name, value in lines.items():
        if value:
            out.print(f"{name:>16}  {value}", soft_wrap=True)
    out.print()
    out.print(attempt.source, soft_wrap=True)


@click.command(short_help="What is different between two attempts.")
@click.argument("before", type=int, metavar="A")
@click.argument("after", type=int, metavar="B")
@store_option
def diff(before: int, after: int, db: Path | None) -> None:
    """Show the lines in which attempt B differs from attempt A, tunables included."""
    from agent_steel.history.export import text_of

    older, newer = _attempt(before, db), _attempt(after, db)
    lines = difflib.unified_diff(
        text_of(older).splitlines(keepends=True),
        text_of(newer).splitlines(keepends=True),
        f"{older.task} attempt {before}",
        f"{newer.task} attempt {after}",
    )
    for line in lines:
        echo(line if line.endswith("\n") else f"{line}\n", nl=False, fg=_colour(line))


def _colour(line: str) -> str | None:
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])


def _attempt(number: int, db: Path | None) -> Attempt:
    from agent_steel.history import History
    from metalbench.store import Store, store_path

    with Store(store_path(db)) as store:
        found = History(store).attempt(number)
        if found is None:
            raise click.ClickException(
                f"{store.path} has no attempt {number}; `agent_steel history NAME` shows numbers"
            )
    return found
