"""Where the store lies."""

from __future__ import annotations

import os
from pathlib import Path

FILE_NAME = "results.db"


def location(explicit: str | Path | None = None) -> Path:
    """Path of the store: `explicit`, else in `$METALBENCH_HOME`, else in the user's data folder."""
    if explicit is not None:
        return Path(explicit)
    home = os.environ.get("METALBENCH_HOME")
    if home:
        return Path(home) / FILE_NAME
    from platformdirs import user_data_path

    return user_data_path("metalbench", appauthor=False) / FILE_NAME
