"""Remove paths of this machine from texts for a model.

They are private, and a model cannot use them. Sources of kernels and tasks are sent as they are.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# An absolute path of at least two names. What stands before it excludes `a/b`, `//` and URLs.
_NAME = r"[^\s/'\"`:,;()<>\[\]{}|*?]+"
_PATH = re.compile(rf"(?<![\w/.~])(?:file://)?/({_NAME})/((?:{_NAME}/)*)({_NAME})?")
_INCLUDE = "include/"


def remove_local_paths(text: str) -> str:
    """Return `text` with the file's name in place of each absolute path of this machine.

    A header keeps its path within an `include` folder, which is how sources name it. An absolute
    path is one of this machine if its first folder is.
    """
    return _PATH.sub(_shorten, text)


def _shorten(match: re.Match[str]) -> str:
    first, folders, name = match[1], match[2], match[3] or ""
    if not _is_folder(first):
        return match[0]
    if _INCLUDE in folders:
        return folders.rpartition(_INCLUDE)[2] + name
    return name or folders.rstrip("/").rpartition("/")[2] or first


@cache
def _is_folder(name: str) -> bool:
    return Path("/", name).is_dir()
