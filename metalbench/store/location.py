"""The path of the store."""

from __future__ import annotations

import os
from pathlib import Path

FILE_NAME = "results.db"


def store_path(explicit: str | Path | None = None) -> Path:
    """Return `explicit`, else the path in `$METALBENCH_HOME`, else in the user's data folder."""
    if explicit is not None:
        return Path(explicit)
    home = os.environ.get("METALBENCH_HOME")
    if home:
        return Path(home) / FILE_NAME
    from platformdirs import user_data_path

    return user_data_path("metalbench", appauthor=False) / FILE_NAME
