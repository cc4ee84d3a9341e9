"""Fuzzing of the front end: nothing but a result or an error of ours, within a time limit.

    python tests/frontend/fuzz.py --minutes 20

Inputs are generated kernels, and mutations of them and of the project's own. Each is parsed and
lowered, every tenth is compiled as well. Inputs that break the rule are kept in --keep.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from frontend.generated_msl import Generator, mutate

from metalbench._core import Error
from metalbench.msl.frontend.lower import lower
from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.msl.toolchain.compile import check_syntax
from metalbench.msl.toolchain.diagnostics import Diagnostics
from metalbench.msl.toolchain.preprocess import parse

# What takes longer has a second chance: the machine may have been busy.
LIMITS_S = (20, 120)
KERNELS = Path(__file__).parents[2] / "kernels"


class Hang(BaseException):
    """More time than any source may take; no Exception, so that nothing in between catches it."""


def _alarm(*_: object) -> None:
    raise Hang


def front_end(text: str, *, compiled: bool = False) -> str:
    """Run a text through the front end: `lowered`, `compiled`, `refused` or `rejected by clang`.

    Raises whatever the front end raises that is not an error of ours, and RuntimeError when clang
    crashes or the error is about the front end itself.
    """
    outcome = "refused"
    try:
        source = parse(
            text, "fuzzed.metal", {"DTYPE": "float", "TG": "64", "__METAL_VERSION__": "400"}, []
        )
        for name in list(source.entry_points)[:2]:
            given = {constant.index: _value(constant.type) for constant in source.constants}
            lowered = lower(source, name, given)
            outcome = "lowered"
            if compiled:
                outcome = "rejected by clang"
                translate = Diagnostics(source, lowered.code).translate
                check_syntax(lowered.code.text, find_toolchain(), translate)
                outcome = "compiled"
    except Error as problem:
        if "please report" in str(problem):
            raise RuntimeError(str(problem)) from problem
    return outcome


def _value(kind: str) -> object:
    return [1] * int(kind[-1]) if kind[-1:] in ("2", "3", "4") else 1


def inputs(seed: int) -> str:
    """The input of a seed."""
    choose = random.Random(seed)
    own = sorted(KERNELS.rglob("*.metal"))
    generated = Generator(choose).source()
    kind = choose.randrange(4)
    if kind == 0:
        return generated
    if kind == 1:
        return mutate(choose, generated, Generator(choose).source())
    return mutate(choose, choose.choice(own).read_text(), choose.choice(own).read_text())


def outcome_of(text: str, *, compiled: bool) -> tuple[str, str]:
    """Return the outcome for a text, and the message if the outcome is wrong."""
    for limit in LIMITS_S:
        signal.alarm(limit)
        try:
            return front_end(text, compiled=compiled), ""
        except Hang:
            continue
        except Exception as problem:
            return f"FOUND {type(problem).__name__}", str(problem)
        finally:
            signal.alarm(0)
    return "FOUND Hang", f"more than {LIMITS_S[-1]} s"


def main() -> int:
    """Fuzz for some minutes; the exit status tells whether anything was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzzed")
    given = options.parse_args()
    signal.signal(signal.SIGALRM, _alarm)
    counts: Counter[str] = Counter()
    end, seed, slowest = time.monotonic() + 60 * given.minutes, given.seed, 0.0
    while time.monotonic() < end:
        text, begun = inputs(seed), time.monotonic()
        outcome, message = outcome_of(text, compiled=seed % 10 == 0)
        if message:
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{seed}.metal").write_text(text, errors="replace")
            print(f"seed {seed}: {outcome}: {message[:300]}", flush=True)
        counts[outcome] += 1
        slowest = max(slowest, time.monotonic() - begun)
        seed += 1
    for outcome, count in counts.most_common():
        print(f"{count:8} {outcome}")
    print(f"{seed - given.seed} inputs, the slowest took {slowest:.1f} s")
    return int(any(outcome.startswith("FOUND") for outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
