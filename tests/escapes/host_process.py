"""A process that loads hostile code as it would a kernel, and calls each escape in a fork of itself.

Arguments: the library, how many escapes it has, and what holds meanwhile: nothing, confined, sealed.
Prints a line for each: its number and how the fork ended.
"""

from __future__ import annotations

import ctypes
import os
import sys

from metalbench.isolation.confinement import landlock, policies, seal, seccomp, to_run
from metalbench.isolation.confinement.confine import confine  # noqa: F401 - imported before it holds

DONE, REFUSED, NOT_HELD = 0, 1, 2


def hold(how: str) -> bool:
    """Confine this process, as `confine` does for a process that will seal itself, or seal it."""
    if how == "confined":
        with landlock.rules(to_run()) as rules:
            landlock.restrict(rules)
        seccomp.install(*policies.working(os.getppid()), every_thread=False)
    return bool(seal().means) if how == "sealed" else True


def outcome(escape: object, how: str) -> int:
    if not hold(how):
        return NOT_HELD
    return DONE if escape() == 0 else REFUSED  # type: ignore[operator]


def main(path: str, count: int, how: str) -> None:
    library = ctypes.CDLL(path)
    for number in range(count):
        escape = getattr(library, f"escape{number}")
        child = os.fork()
        if child == 0:
            os._exit(outcome(escape, how))
        print(number, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
