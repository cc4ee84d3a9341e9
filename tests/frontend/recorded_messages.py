"""The recorded messages of Apple's compiler, and the table of them in the documentation.

`python tests/frontend/recorded_messages.py` prints the table.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
RECORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["message"]
HEADINGS = ["| message of Apple's compiler | this engine | source |", "|---|---|---|"]


def format_table() -> str:
    """Return a line for each message: what the engine says, and a source that has the message."""
    return "\n".join([*HEADINGS, *map(_format_row, RECORDS)])


def _format_row(record: dict[str, str]) -> str:
    engine = {"same": "same words", "accepts": "**accepts**"}.get(record["engine"])
    if engine is None:
        engine = f"{_escape(record['words'])}"
    code = record["code"].replace("\n", " ").replace("|", "\\|")
    return f"| {_escape(record['metal'])} | {engine} | `{code}` |"


def _escape(text: str) -> str:
    return text.replace("`", "").replace("*", "\\*").replace("<", "\\<").replace("[", "\\[")


if __name__ == "__main__":
    print(format_table())
