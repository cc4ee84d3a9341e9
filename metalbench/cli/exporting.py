"""Results in files of every form that an option asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metalbench.cli.output import write_text

if TYPE_CHECKING:
    from metalbench.comparison.regression import Regression
    from metalbench.result import DeviceFacts
    from metalbench.result.environment import Environment
    from metalbench.run.runner import Outcome


def export(
    outcome: Outcome,
    facts: DeviceFacts,
    here: Environment,
    options: dict[str, Any],
    *,
    slower: Sequence[Regression] = (),
    seconds: float,
) -> None:
    """Write the files that the options ask for; raises Failure as `write_text` does."""
    from metalbench.report.export import to_csv, to_json
    from metalbench.report.junit import to_junit
    from metalbench.report.markdown import to_markdown
    from metalbench.report.page import page_of_results, to_html

    results = outcome.results
    forms: dict[str, Callable[[], str]] = {
        "json": lambda: to_json(results, facts, here, plain(options)),
        "csv": lambda: to_csv(results),
        "markdown": lambda: to_markdown(results, seconds, slower),
        "html": lambda: to_html(page_of_results(results, facts, here, seconds)),
        "junitxml": lambda: to_junit(results, slower),
    }
    for name, text in forms.items():
        if options[f"{name}_file"]:
            write_text(options[f"{name}_file"], text())


def plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as JSON can hold them."""

    def held(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [held(each) for each in value]
        return str(value) if isinstance(value, Path) else value

    return {name: held(value) for name, value in options.items()}
