"""``metalbench leaderboard``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from metalbench.cli.machine import find_device_peaks
from metalbench.cli.options import complete_names, store_option
from metalbench.cli.output import is_taken, record_options, write_text
from metalbench.devices import KINDS

if TYPE_CHECKING:
    from metalbench.store.records import Record, RecordPlace
    from metalbench.store.store import Store

EXAMPLES = """\b
Examples:
  metalbench run --record
  metalbench leaderboard
  metalbench leaderboard softmax relu --history
  metalbench leaderboard --device metal --html records.html
  metalbench leaderboard --set standard --md -
"""


@click.command(epilog=EXAMPLES, short_help="Show the fastest known kernel of every task.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names)
@click.option("--set", "set_name", metavar="SET", help="Only this set: common, standard, full.")
@click.option(
    "--device",
    type=click.Choice(["all", *KINDS]),
    default="all",
    show_default=True,
    help="Only records of this kind of device.",
)
@click.option(
    "--history",
    "with_history",
    is_flag=True,
    help="Print also the earlier records of each task: when, by whom, and by how much.",
)
@record_options
@store_option
def leaderboard(names: tuple[str, ...], **options: Any) -> None:
    """Show the records of the store, in a separate table for each device.

    A record is a correct kernel that none was shown to be faster than. `metalbench run --record`,
    `certify` and agent_steel bring new ones in: the first of a task at once, another one if it is
    FASTER in pairs with the record, and FASTER once more on other inputs. A record has the name in
    METALBENCH_AUTHOR, if it is set. `--html` writes one file
    that needs no network: a table to sort, a plot, and the source and history of every record.

    Exit codes: 0; 2 wrong usage or environment.
    """
    from metalbench.report.console import console
    from metalbench.report.leaderboard import leaderboard_report, past_report
    from metalbench.store.database import store_path
    from metalbench.store.store import Store

    out, path = console(to_stderr=is_taken(options)), store_path(options["db"])
    if not path.exists():
        out.print(f"no records in {path}; `metalbench run --record` makes some")
        # Files that are asked for are written: a page of a CI job exists from its first run.
        _export([], lambda _: [], options)
        return
    with Store(path) as store:
        records = _select_records(store, names, options)
        if records:
            out.print(leaderboard_report(records, out))
            if options["with_history"]:
                out.print(past_report(records, store.records_of, out))
        else:
            out.print(f"no such records in {path}; `metalbench run --record` makes some")
        _export(records, store.records_of, options)


def _select_records(store: Store, names: Sequence[str], options: dict[str, Any]) -> list[Record]:
    found = store.records()
    known = {record.entry.task for record in found}
    for name in names:
        if name not in known:
            from metalbench.errors import suggestion

            raise click.UsageError(f"no record of {name!r}; {suggestion(name, known)}")
    return [
        record
        for record in found
        if (not names or record.entry.task in names)
        and options["set_name"] in (None, record.set)
        and options["device"] in ("all", record.place.device_kind)
    ]


def _export(
    records: Sequence[Record],
    past: Callable[[RecordPlace], list[Record]],
    options: dict[str, Any],
) -> None:
    from metalbench.report.leaderboard import to_csv, to_json, to_markdown

    def write_page() -> str:
        from metalbench.report.page.document import to_html
        from metalbench.report.page.model import page_of_records

        return to_html(page_of_records(records, past, find_device_peaks))

    forms: dict[str, Callable[[], str]] = {
        "json": lambda: to_json(records, past),
        "csv": lambda: to_csv(records, past),
        "markdown": lambda: to_markdown(records),
        "html": write_page,
    }
    for name, text in forms.items():
        if options[f"{name}_file"]:
            write_text(options[f"{name}_file"], text())
