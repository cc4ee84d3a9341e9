"""The text that goes with a new task: what it is, how it was checked, and its figures."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.welding.destination import Destination
from agent_steel.welding.draft import Draft

if TYPE_CHECKING:
    from metalbench.result import Result


def contribution(
    draft: Draft,
    *,
    destination: Destination,
    checks: Sequence[str],
    author: str,
    result: Result | None,
    reference: Path | None,
) -> str:
    """Return the text, as Markdown. Without a `result` it says that nothing was timed."""
    task = ast.get_docstring(ast.parse(draft.task)) or draft.name
    known = "" if reference else NO_REFERENCE
    return "\n".join(
        (
            f"# {draft.name}: {task.splitlines()[0]}",
            "",
            draft.summary,
            "",
            f"* `{destination.set_name}/{draft.name}.py`: the task",
            f"* `{destination.set_name}/{draft.name}.metal`: the kernel",
            "",
            f"Written by {author}.",
            "",
            "## How it was checked",
            "",
            f"By MetalBench {version('metalbench')}:",
            "",
            *(f"* {each}" for each in checks),
            *(["", known] if known else []),
            "",
            "Once more:",
            "",
            f"    metalbench admit {draft.name} --kernels {destination.folder}",
            f"    metalbench run {draft.name} --kernels {destination.folder}",
            "",
            "## Figures",
            "",
            *_figures(result),
        )
    )


NO_REFERENCE = (
    "What is right was written by the same author as the kernel: no reference of anybody else was "
    "given. Read the oracle before you rely on it."
)


def _figures(result: Result | None) -> list[str]:
    if result is None:
        return ["Nothing was timed. `metalbench run` with `--markdown FILE` makes the table.", ""]
    from metalbench.report.markdown import to_markdown

    # Its heading is ours already.
    _, _, table = to_markdown([result], result.seconds).partition("\n")
    return [table.strip(), ""]
