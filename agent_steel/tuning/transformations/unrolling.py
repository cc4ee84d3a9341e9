"""Loops whose number of turns is known when they are compiled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.kernel import Kernel

MOST_TURNS = 64
LOOP = re.compile(
    r"^(?P<indent>[ \t]*)for \((?:const )?(?:u?int|ushort|short) (?P<name>\w+) = \d+u?; "
    r"(?P=name) < (?P<bound>\w+); (?:\+\+(?P=name)|(?P=name)\+\+)\)",
    re.M,
)


class Unrolling:
    """Loops of a number or a macro of turns are written out by the compiler."""

    technique = "unrolled loops"
    summary = (
        "Loops whose number of turns is known are unrolled. That leaves out their tests, and lets "
        "loads of several turns be under way at a time."
    )
    needs = "a loop that counts up by one to a number or a tunable"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with all such loops unrolled."""
        found = LOOP.sub(lambda match: _unroll(kernel, match), kernel.source)
        if found != kernel.source:
            yield found


def _unroll(kernel: Kernel, match: re.Match[str]) -> str:
    bound = match["bound"].removesuffix("u")
    before = kernel.source[: match.start()].rstrip().rpartition("\n")[2]
    counted = bound in kernel.tunables or (bound.isdecimal() and int(bound) <= MOST_TURNS)
    if not counted or before.lstrip().startswith("#pragma"):
        return match[0]
    return f"{match['indent']}#pragma unroll\n{match[0]}"
