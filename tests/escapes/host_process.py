"""A process that loads hostile code as it would a kernel, and calls each escape in a fork.

Arguments: the library, what holds meanwhile (free, confined, sealed), as which user, and the
numbers of the escapes. Prints a line for each: how the fork ended.
"""

from __future__ import annotations

import ctypes
import os
import sys

from escapes.other_user import be

from metalbench.sandbox import landlock, seccomp
from metalbench.sandbox.confinement import list_executor_files, seal

DONE, REFUSED, NOT_HELD = 0, 1, 2


def hold(how: str) -> bool:
    """Confine this process, as `confine` does for a process that will seal itself, or seal it."""
    if how == "confined":
        with landlock.open_ruleset(list_executor_files()) as rules:
            landlock.restrict_thread(rules)
        seccomp.install_filter(*seccomp.make_executor_policy(os.getppid()), every_thread=False)
    return bool(seal().mechanisms) if how == "sealed" else True


def outcome(escape: object, how: str) -> int:
    if not hold(how):
        return NOT_HELD
    return DONE if escape() == 0 else REFUSED  # type: ignore[operator]


def main(path: str, how: str, user: int, numbers: list[str]) -> None:
    be(user)
    library = ctypes.CDLL(path)
    for number in numbers:
        escape = getattr(library, f"escape{number}")
        child = os.fork()
        if child == 0:
            os._exit(outcome(escape, how))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
