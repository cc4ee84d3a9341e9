"""The project that runs belong to. Projects have separate histories and baselines."""

from __future__ import annotations

import os
import subprocess
from functools import cache
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
    root = find_repository(folder)
    return "" if root is None else str(root)


def find_repository(folder: Path | None = None) -> Path | None:
    """Return the root of the git repository that has `folder`, by default the working directory."""
    start = (folder or Path.cwd()).resolve()
    # `.git` is a file in a worktree, which is a separate project.
    return next((each for each in (start, *start.parents) if (each / ".git").exists()), None)


@cache
def describe_revision(root: Path) -> str | None:
    """Return git's description of the commit that `root` is at; None if it is not in one.

    It ends with ``-dirty`` if tracked files differ from the commit. It is cached: later edits do
    not change it.
    """
    if not (root / ".git").exists():
        return None
    command = ("git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty")
    return read_output(*command) or None


def read_output(*command: str) -> str:
    """Run a command and return its standard output; empty if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
