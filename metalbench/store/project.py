"""The project that runs belong to. Projects have separate histories and baselines."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "METALBENCH_PROJECT"


def find_project(folder: Path | None = None) -> str:
    """Return the project of `folder`, by default of the working directory.

    It is the value of $METALBENCH_PROJECT, else the root of the git repository that has the folder,
    else an empty string: folders outside of a repository share one project. A name in the variable
    keeps the history of a repository whose folder changes, such as a checkout of a CI job.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return named
    start = (folder or Path.cwd()).resolve()
    # `.git` is a file in a worktree, which is a separate project.
    return next((str(each) for each in (start, *start.parents) if (each / ".git").exists()), "")
