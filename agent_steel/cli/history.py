"""``agent_steel history``, ``show`` and ``diff``: what was tried."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.machine import on_option, open_device
from metalbench.cli.options import (
    MachineConfig,
    complete_names,
    dtype_option,
    kernel_options,
    store_option,
    writable,
    writable_picture,
)
from metalbench.report.console import echo, echo_source

if TYPE_CHECKING:
    from rich.tree import Tree

    from agent_steel.attempt import Attempt
    from agent_steel.history import History
    from agent_steel.history.lineage import Lineage
    from agent_steel.loop.settings import SearchSubject


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
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    out = console()
    with Store(store_path(db)) as store:
        kept = History(store)
        found = _lineages(kept, name)
        if not found:
            raise CommandFailure(
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
        where = f"on {place.device_kind} ({place.device_name}, {place.device_cores} cores{engine})"
        if place.is_predicted:
            where = f"as predicted for {place.device_name} ({place.device_cores} cores)"
        title = f"{name} ({each.dtype}, {each.size}) {where}"
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
    from agent_steel.cli.report import format_tunables, outcome
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
    from agent_steel.cli.report import outcome
    from metalbench.report.console import console
    from metalbench.store.result import format_tunables

    attempt, is_predicted = _attempt(number, db)
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
        "outcome": outcome(attempt, is_predicted=is_predicted),
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
    from agent_steel.history.history import text_of

    (older, _), (newer, _) = _attempt(before, db), _attempt(after, db)
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


@click.command(short_help="Prompts and answers of a model.")
@click.argument("name", shell_complete=complete_names)
@click.option("--attempt", type=int, metavar="ID", help="Only the requests for one attempt.")
@click.option("--session", type=int, metavar="N", help="Only the requests of one session.")
@click.option("--brief", is_flag=True, help="One line for each request, without texts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on each line.")
@store_option
def log(name: str, db: Path | None, **options: Any) -> None:
    """Show each request to a model for a kernel: prompt, answer, tokens, cost and outcome.

    Keys are not in it: they are removed before a text is stored. The tuner makes no requests.
    """
    from agent_steel.attempt import Status
    from agent_steel.cli.report import format_exchange
    from agent_steel.history import History
    from agent_steel.history.recording import list_requests
    from agent_steel.proposers import TUNER
    from metalbench.report import numbers
    from metalbench.report.console import echo_document
    from metalbench.safe_text import json_text
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    with Store(store_path(db)) as store:
        kept = History(store)
        attempts = {each.number: each for each in kept.of_task(name)}
        found = [
            (context, each)
            for context, each in kept.exchanges(name)
            if options["attempt"] in (None, context.attempt)
            and options["session"] in (None, context.session)
        ]
        if not found:
            asked = [
                each
                for each in attempts.values()
                if each.status is not Status.BASELINE
                and options["attempt"] in (None, each.number)
                and options["session"] in (None, each.session)
            ]
            if asked and all(each.proposer == TUNER for each in asked):
                shown = numbers.count(len(asked), "attempt")
                echo(
                    f"The tuner makes no requests to a model. `agent_steel history {name}` shows "
                    f"its {shown}.",
                    err=True,
                )
                return
            raise CommandFailure(
                f"{store.path} has no such requests to a model for {name!r}; "
                f"`agent_steel --kernel-name {name} --provider NAME` makes some"
            )
    if options["as_json"]:
        for record in list_requests(found, attempts):
            echo_document(json_text(record, allow_nan=False) + "\n")
        return
    shown = ""
    for context, each in found:
        tried = attempts.get(context.attempt or 0)
        title, texts = format_exchange(context, each, tried)
        echo(title, fg="cyan")
        if options["brief"]:
            continue
        if each.system == shown:
            texts["system"] = "as in the request before"
        shown = each.system
        for part, text in texts.items():
            if text:
                echo(f"--- {part}")
                echo(text)
        echo()


@click.command("export-session", short_help="Write a session as a file that can be replayed.")
@click.argument("number", type=int, required=False, metavar="[SESSION]")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    callback=writable,
    metavar="FILE",
    help="Where to; else standard output.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@store_option
def export_session_command(
    number: int | None, out: Path | None, force: bool, db: Path | None
) -> None:
    """Write a session, by default the latest, as JSON lines: requests, answers and judgements.

    `agent_steel --replay FILE` runs it again without a model. Keys are not in it.
    """
    from agent_steel.history import History
    from agent_steel.history.recording import export_session
    from metalbench.report.console import echo_document
    from metalbench.store.database import store_path
    from metalbench.store.store import Store
    from metalbench.untrusted_files import replace_file

    with Store(store_path(db)) as store:
        kept = History(store)
        session = kept.session(number)
        if session is None:
            which = "a session" if number is None else f"session {number}"
            raise CommandFailure(
                f"{store.path} lacks {which}; `agent_steel --kernel-name NAME --loop` makes one"
            )
        text = "".join(export_session(kept, session))
    if out is None or str(out) == "-":
        echo_document(text)
        return
    if out.exists() and not force:
        raise CommandFailure(f"{out} exists already; --force replaces it")
    replace_file(out, text)
    echo(f"Wrote session {session.number} to {out}")


def _attempt(number: int, db: Path | None) -> tuple[Attempt, bool]:
    """Return an attempt, and whether its ratio is predicted."""
    from agent_steel.history import History
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    with Store(store_path(db)) as store:
        history = History(store)
        found, place = history.attempt(number), history.place(number)
        if found is None or place is None:
            raise CommandFailure(
                f"{store.path} has no attempt {number}; `agent_steel history NAME` shows numbers"
            )
    return found, place.is_predicted


# ``agent_steel export`` and ``plot``: what the attempts at a kernel came to.

TARGETS = ("speed", "compute", "memory", "stable", "balanced")
FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


def objectives_option(text: str) -> Callable[[Any], Any]:
    """``--objective``: one or several of measured times and predicted times; `text` is its help."""
    return click.option(
        "--objective",
        default="time",
        show_default=True,
        metavar="[time|predicted:CHIP],...",
        help=text,
    )


def _select(command: Any) -> Any:
    """NAME, and which of its histories is meant."""
    for option in (
        kernel_options,
        on_option,
        objectives_option("Whose histories, as `--objective` of the search."),
        dtype_option(default="float32", show_default=True, help="Element type."),
        click.option("--size", metavar="NAME", help="Size; else the device's headline."),
        click.argument("name", shell_complete=complete_names),
    ):
        command = option(command)
    return command


@click.command(short_help="Write the best version as a .metal file.")
@_select
@click.option(
    "--out", type=FILE, callback=writable, metavar="FILE", help="Where to; - is standard output."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="speed",
    show_default=True,
    help="By which the best is chosen: speed is the fastest, stable the steadiest.",
)
def export(name: str, out: Path | None, force: bool, **options: Any) -> None:
    """Write the best version of a kernel, its values of tunables as the defaults.

    Without --out it is written in place of the kernel's own file, which needs --force, or as the
    variant for this device's chip next to it.
    """
    from agent_steel.history.history import apply_attempt, file_name, text_of, write_attempt

    subject, lineage = _find(name, options)
    start = lineage.start(subject.key)
    if start is None:
        raise CommandFailure(
            f"the store has no attempts at {name} ({subject.dtype}, {subject.size}) as its file "
            f"is; `agent_steel --kernel-name {name} --loop` makes some"
        )
    best = lineage.best(lineage.root(start))
    device = subject.variant_device
    predicted_for = device.name if subject.chip is not None else ""
    if out is not None and str(out) == "-":
        echo_source(text_of(best, predicted_for), nl=False)
        return
    folder = subject.kernel.path.parent
    path = out or folder / file_name(name, device.chip)
    if path.exists() and not force:
        raise CommandFailure(f"{path} exists already; --force replaces it, --out names another")
    if out is None:
        path = apply_attempt(
            *(subject.entry, best, device, options["kernels"]),
            is_predicted=subject.chip is not None,
        )
    else:
        path = write_attempt(out, best, predicted_for)
    echo(f"Wrote attempt {best.number} to {path}")


@click.command(short_help="A picture of the best so far over rounds.")
@_select
@click.option(
    "--out",
    type=FILE,
    callback=writable_picture,
    required=True,
    metavar="FILE",
    help="A file whose name ends in .svg.",
)
def plot(name: str, out: Path, **options: Any) -> None:
    """Draw every attempt at a kernel by the gain that it had, and the best so far."""
    from agent_steel.history.lineage import draw

    subject, lineage = _find(name, options)
    if not lineage.attempts:
        raise CommandFailure(
            f"the store has no attempts at {name} ({subject.dtype}, {subject.size}); "
            f"`agent_steel --kernel-name {name} --loop` makes some"
        )
    how = "on" if subject.chip is None else "as predicted for"
    title = f"{name} ({subject.dtype}, {subject.size}) {how} {subject.target_device.name}"
    draw(lineage, title, out)
    echo(f"Wrote {out}")


def _find(name: str, options: dict[str, Any]) -> tuple[SearchSubject, Lineage]:
    """Return the kernel as its file is, and all attempts at it on the device."""
    from agent_steel.attempt import Target
    from agent_steel.cli.run import subjects_for
    from agent_steel.history import History
    from agent_steel.history.lineage import Lineage
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    asked = {**options, "kernel_names": (name,), "set_name": None, "everything": False}
    (subject,) = subjects_for(asked, open_device(MachineConfig.of(options)))
    with Store(store_path(options["db"])) as store:
        target = Target(options.get("target", Target.SPEED))
        return subject, Lineage(History(store).attempts(subject.place), target)
