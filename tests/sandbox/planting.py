"""A worker on a system without seccomp: it leaves processes behind, as code in it could do.

METALBENCH_TEST_PLANTS says how. It writes their numbers to METALBENCH_TEST_FILE, and answers.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from metalbench.sandbox import privileges


def _stay() -> None:
    """Note this process, ignore what may be ignored, and never end."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with open(os.environ["METALBENCH_TEST_FILE"], "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        signal.pause()


def _in_a_child(act: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return child


def _own_session() -> None:
    os.setsid()
    _stay()


def _own_group() -> None:
    os.setpgid(0, 0)
    _stay()


def _two_steps(last: Callable[[], None]) -> None:
    """Fork twice: the one in between ends, so that the last one has lost its parent."""
    os.waitpid(_in_a_child(lambda: (_in_a_child(last), None)[1]), 0)


def _chain() -> None:
    """Start four generations, each in its own session, of which all stay."""

    def next_one(left: int) -> None:
        os.setsid()
        if left:
            _in_a_child(lambda: next_one(left - 1))
        _stay()

    _in_a_child(lambda: next_one(3))


PLANTS: dict[str, tuple[int, Callable[[], object]]] = {
    "a child": (1, lambda: _in_a_child(_stay)),
    "another session": (1, lambda: _in_a_child(_own_session)),
    "another group": (1, lambda: _in_a_child(_own_group)),
    "in two steps": (1, lambda: _two_steps(_stay)),
    "in two steps, in another session": (1, lambda: _two_steps(_own_session)),
    "a chain of sessions": (4, _chain),
}


def work(channel: int, lifeline: int, parent: int, _: str) -> None:
    """Plant what is asked for, and stay."""
    privileges.adopt_orphans()
    count, plant = PLANTS[os.environ["METALBENCH_TEST_PLANTS"]]
    # The pipes to the judge are held by what is left behind.
    plant()
    path = Path(os.environ["METALBENCH_TEST_FILE"])
    while not path.exists() or len(path.read_text().splitlines()) < count:
        os.sched_yield()
    connection = Connection(channel)
    connection.send_bytes(b"planted")
    while True:
        signal.pause()
