"""Simulate verdicts: a kernel against itself, and against one that is slower.

    python tests/stats/tables.py
    python tests/stats/tables.py --trials 2000 --only "few pairs"

For each kind of noise and number of pairs: of equal kernels, how many are found different (false),
the same, or left open; how often the ratio's interval covers 1; and of kernels with a true ratio,
how many are found, and in how many something false is said (wrong: the opposite, or SAME).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from noise import Noise, Pairs, Process

from metalbench.stats import Judgement, Verdict, assess

RATIOS = (1.03, 1.1, 3.0)
AR = (0.0, 0.5, 0.8, 0.9, 0.95)
QUIET = 0.003


def alone(rho: float, spread: float = 0.05) -> Noise:
    """A noise of the candidate alone, in a quiet machine."""
    return Noise(spread=QUIET, alone=Process(rho=rho, spread=spread))


# Each case with the numbers of pairs that it is asked for.
FEW = {
    **{f"own AR(1) {rho:g} of one side, 5 %": (alone(rho), (12, 20, 40)) for rho in AR},
    "own AR(1) 0.9 of one side, 30 %": (alone(0.9, 0.3), (12, 40)),
    "own t(2) of one side, 2 %": (
        Noise(spread=QUIET, alone=Process(spread=0.02, freedom=2.0)),
        (12, 20, 40),
    ),
    "own t(1.5) of one side, 5 %": (
        Noise(spread=QUIET, alone=Process(spread=0.05, freedom=1.5)),
        (12, 20, 40),
    ),
    "walk of 2 % of one side": (Noise(spread=QUIET, drift=0.02, own=True), (40,)),
    "fGn 0.8 of one side, 5 %": (
        Noise(spread=QUIET, alone=Process(hurst=0.8, spread=0.05)),
        (12, 40),
    ),
    "independent, 2 %": (Noise(), (12, 40)),
}
MANY = {
    "independent, 2 %": (Noise(), (300, 900)),
    "AR(1) 0.8": (Noise(rho=0.8), (300,)),
    "AR(1) 0.95": (Noise(rho=0.95), (300,)),
    "AR(1) 0.8, own": (Noise(rho=0.8, own=True), (300,)),
    "AR(1) 0.95, own": (Noise(rho=0.95, own=True), (300,)),
    "fGn 0.8": (Noise(hurst=0.8), (300,)),
    "fGn 0.8, own": (Noise(hurst=0.8, own=True), (300, 900)),
    "walk of 0.2 %": (Noise(drift=0.002), (300,)),
    "two clocks": (Noise(slow_share=0.3, spread=0.005), (300,)),
    "t(2)": (Noise(spread=0.01, freedom=2.0), (300,)),
}
ORDER = {
    "second 2 % slower, else 0.3 %": (Noise(second=0.02, spread=QUIET), (20, 40, 300)),
    "second 2 % slower, else 2 %": (Noise(second=0.02), (40, 300, 900)),
    "second 2 % slower, AR(1) 0.8": (Noise(second=0.02, rho=0.8, own=True), (300,)),
}
LEVELS = {
    "level per look of 0.3 %": (Noise(level=0.003), (256, 900)),
    "level per look of 1 %": (Noise(level=0.01), (64, 256, 900)),
    "level per look of 1 %, else 0.3 %": (Noise(level=0.01, spread=QUIET), (64, 256, 900)),
    "level per look of 3 %": (Noise(level=0.03), (256, 900)),
}
TABLES = {"few pairs": FEW, "many pairs": MANY, "order": ORDER, "levels": LEVELS}


def judged(pairs: Pairs) -> Judgement:
    """Return the verdict of pairs."""
    return assess(*pairs[:2], candidate_first=pairs.candidate_first, batch=pairs.look)


@dataclass(frozen=True)
class Rates:
    """Shares of trials: each verdict, intervals that cover the ratio, and verdicts that are not so.

    Wrong is FASTER or SLOWER of equals, and of others whatever is neither true nor INCONCLUSIVE.
    """

    found: float
    wrong: float
    open: float
    covered: float

    @classmethod
    def of(cls, noise: Noise, count: int, ratio: float, *, trials: int, first: int = 0) -> Rates:
        """Return the results of several sets of `count` pairs with a seed each."""
        true = Verdict.SAME if ratio == 1.0 else Verdict.FASTER
        verdicts, covered = [], 0
        for seed in range(first, first + trials):
            judgement = judged(noise.pairs(np.random.default_rng(seed), count, ratio))
            verdicts.append(judgement.verdict)
            covered += judgement.ratio.low <= ratio * (1 + 1e-12)
            covered -= judgement.ratio.high < ratio * (1 - 1e-12)
        found, silent = verdicts.count(true), verdicts.count(Verdict.INCONCLUSIVE)
        counts = found, trials - found - silent, silent, covered
        return cls(*(count / trials for count in counts))


def rows(cases: dict[str, tuple[Noise, Sequence[int]]], trials: int) -> None:
    """Print a line for each case and number of pairs as soon as it is known."""
    heads = ["false", "SAME", "open", "covered"]
    heads += [f"{ratio:g}x {what}" for ratio in RATIOS for what in ("found", "wrong")]
    print(f"{'':36}{'pairs':>6}" + "".join(f"{head:>12}" for head in heads))
    for name, (noise, counts) in cases.items():
        for count in counts:
            equal = Rates.of(noise, count, 1.0, trials=trials)
            shares = [equal.wrong, equal.found, equal.open, equal.covered]
            for ratio in RATIOS:
                other = Rates.of(noise, count, ratio, trials=trials // 2)
                shares += [other.found, other.wrong]
            line = "".join(f"{share:12.1%}" for share in shares)
            print(f"{name:36}{count:6}{line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=400, help="of equals; half for each ratio")
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    options = parser.parse_args()
    for name in [options.only] if options.only else TABLES:
        print(f"\n{name}")
        rows(TABLES[name], options.trials)


if __name__ == "__main__":
    main()
