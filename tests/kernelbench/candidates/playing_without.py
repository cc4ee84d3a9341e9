"""A candidate's process on a system that lacks what METALBENCH_TEST_LACKS says."""

from __future__ import annotations

import os
from typing import Any

from metalbench.errors import Unsupported
from metalbench.kernelbench.candidates import main
from metalbench.sandbox import landlock, seccomp


def work(channel: int, lifeline: int, parent: int, how: str) -> None:
    """Do as the process of a candidate does."""
    lacks = os.environ["METALBENCH_TEST_LACKS"].split()
    if "seccomp" in lacks:
        seccomp.install_filter = _no_seccomp
    if "landlock" in lacks:
        landlock.version.cache_clear()
        landlock.version = lambda: 0  # type: ignore[assignment]
    main.work(channel, lifeline, parent, how)


def _no_seccomp(*_: Any, **__: Any) -> None:
    raise Unsupported("seccomp: Function not implemented")
