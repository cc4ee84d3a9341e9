"""A draft of a task and its kernel, as a model writes it, and what of it can be seen at once."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from agent_steel.models.candidate import MOST_BYTES, check_source
from agent_steel.models.replies import ReplyError, object_schema, texts
from agent_steel.welding.python_text import fault_of, same_code

DRAFT_SCHEMA = object_schema(
    {
        "name": "The task's name: lower-case letters, digits and underscores.",
        "summary": "For a reader, in two or three sentences: what it computes, and how.",
        "task": "The full task file, in Python.",
        "kernel": "The full .metal file.",
    }
)
LONGEST = {"name": 60, "summary": 1500, "task": 50_000, "kernel": MOST_BYTES}


@dataclass(frozen=True)
class Draft:
    """A task and a kernel before checking."""

    name: str
    summary: str
    task: str
    kernel: str

    def write(self, folder: Path) -> None:
        """Write NAME.py and NAME.metal into `folder`."""
        (folder / f"{self.name}.py").write_text(self.task, encoding="utf-8")
        (folder / f"{self.name}.metal").write_text(self.kernel, encoding="utf-8")


def valid_name(name: str) -> bool:
    """Return whether a task can be called so."""
    return bool(re.fullmatch(r"[a-z][a-z0-9_]*", name)) and not keyword.iskeyword(name)


def read_draft(text: str, name: str, taken: Collection[str] = ()) -> Draft:
    """Return the draft that a reply is. It is to be called `name`; '' leaves that to the model.

    Raise ReplyError, also for a name of `taken`.
    """
    fields = {key: value.strip() for key, value in texts(text, LONGEST).items()}
    given = fields["name"]
    if name and given != name:
        raise ReplyError(f"`name`: expected {name!r}, got {given!r}")
    if not valid_name(given):
        raise ReplyError(f"`name`: expected lower-case letters, digits and _, got {given!r}")
    if given in taken:
        raise ReplyError(f"`name`: there is a task called {given!r} already")
    for what, fault in (
        ("summary", "" if fields["summary"] else "it is empty"),
        ("task", fault_of(fields["task"], given)),
        ("kernel", check_source(fields["kernel"], name=given)),
    ):
        if fault:
            raise ReplyError(f"`{what}`: {fault}")
    return Draft(given, fields["summary"], f"{fields['task']}\n", f"{fields['kernel']}\n")


def read_polished(text: str, draft: Draft) -> Draft:
    """Return the polished `draft` that a reply is; raises ReplyError if its task is another one."""
    polished = read_draft(text, draft.name)
    if not same_code(polished.task, draft.task):
        raise ReplyError("`task`: only comments and docstrings may be different from before")
    return polished
