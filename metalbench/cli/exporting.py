"""Write the results of a run to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metalbench.cli.config import RunConfig
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
    config: RunConfig,
    *,
    slower: Sequence[Regression] = (),
    seconds: float,
) -> None:
    """Write the files that options ask for; raise Failure as `write_text`."""
    from metalbench.report.export import to_csv, to_json
    from metalbench.report.junit import to_junit
    from metalbench.report.markdown import to_markdown
    from metalbench.report.page import page_of_results, to_html

    results = outcome.results
    forms: dict[str, Callable[[], str]] = {
        "json": lambda: to_json(results, facts, here, dict(config.recorded)),
        "csv": lambda: to_csv(results),
        "markdown": lambda: to_markdown(results, seconds, slower),
        "html": lambda: to_html(page_of_results(results, facts, here, seconds)),
        "junitxml": lambda: to_junit(results, slower),
    }
    for name, text in forms.items():
        if name in config.files:
            write_text(config.files[name], text())
