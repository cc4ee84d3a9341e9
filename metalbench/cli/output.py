"""Options for files of results, and their writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.group import CommandFailure
from metalbench.cli.machine import find_device_peaks
from metalbench.cli.options import RunConfig, writable
from metalbench.report.console import echo_document
from metalbench.untrusted_files import replace_file

if TYPE_CHECKING:
    from metalbench.compare.comparison import Regression
    from metalbench.run.runner import Outcome
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts


Command = TypeVar("Command", bound=Callable[..., Any])
FORMS = {
    "junitxml": "JUnit's XML",
    "html": "a page of HTML",
    "markdown": "Markdown",
    "csv": "CSV",
    "json": "JSON",
}
SHORT = {"markdown": ["--md"]}
FILE = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


def json_option(command: Command) -> Command:
    """``--json``."""
    return _file_option("json", "JSON")(command)


def markdown_option(command: Command) -> Command:
    """``--markdown``."""
    return _file_option("markdown", FORMS["markdown"])(command)


def html_option(command: Command) -> Command:
    """``--html``."""
    return _file_option("html", FORMS["html"])(command)


def table_options(command: Command) -> Command:
    """``--json`` and ``--csv``: figures, for other programs."""
    return _file_option("csv", "CSV")(_file_option("json", "JSON")(command))


def result_options(command: Command) -> Command:
    """``--json``, ``--csv``, ``--markdown``, ``--html`` and ``--junitxml``: a run's results."""
    for name, kind in FORMS.items():
        command = _file_option(name, kind)(command)
    return command


def record_options(command: Command) -> Command:
    """``--json``, ``--csv``, ``--markdown`` and ``--html``: results that are not of a run."""
    for name, kind in list(FORMS.items())[1:]:
        command = _file_option(name, kind)(command)
    return command


def is_taken(options: Mapping[str, Any]) -> bool:
    """Return whether results are written to standard output; the report then goes to stderr."""
    return any(str(options.get(f"{name}_file")) == "-" for name in FORMS)


def _file_option(name: str, kind: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{name}",
        *SHORT.get(name, []),
        f"{name}_file",
        type=FILE,
        callback=writable,
        metavar="FILE",
        help=f"Write results as {kind}; - is standard output.",
    )


def write_text(path: Path, text: str) -> None:
    """Write a file atomically. ``-`` is standard output.

    A device or pipe, such as /dev/null or a shell's `>(...)`, is written to and not replaced.
    Raise Failure for what cannot be written.
    """
    if str(path) == "-":
        echo_document(text)
        return
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        replace_file(path, text)
    except OSError as error:
        raise CommandFailure(f"{path} cannot be written: {error.strerror or error}") from error


# Write the results of a run to files.


def export(
    outcome: Outcome,
    facts: DeviceFacts,
    here: Environment,
    config: RunConfig,
    *,
    slower: Sequence[Regression] = (),
    seconds: float,
    db: Path | None = None,
) -> None:
    """Write the files that options ask for; raise Failure as `write_text`.

    `db` is the store of the run and of earlier ones; without it a page has no past.
    """
    from metalbench.report.ci import to_junit, to_markdown
    from metalbench.report.export import to_csv, to_json
    from metalbench.report.results import sort_results

    def write_page() -> str:
        from metalbench.report.page.document import to_html
        from metalbench.report.page.model import page_of_results, read_pasts
        from metalbench.store.store import Store

        commit, pasts = None, {}
        if db is not None and outcome.number is not None:
            with Store(db) as store:
                stored = store.results(outcome.number)
                commit = stored[0].project_revision if stored else None
                pasts = read_pasts(stored, store.history)
        page = page_of_results(
            results,
            facts,
            here,
            seconds,
            command_line=str(config.recorded.get("command_line", "")),
            commit=commit,
            pasts=pasts,
            find_peaks=find_device_peaks,
        )
        return to_html(page)

    results = outcome.results
    forms: dict[str, Callable[[], str]] = {
        "json": lambda: to_json(results, facts, here, dict(config.recorded)),
        "csv": lambda: to_csv(results),
        "markdown": lambda: to_markdown(sort_results(results, config.sort), seconds, slower),
        "html": write_page,
        "junitxml": lambda: to_junit(results, slower),
    }
    for name, text in forms.items():
        if name in config.files:
            write_text(config.files[name], text())
