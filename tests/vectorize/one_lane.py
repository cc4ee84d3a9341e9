"""Reference results, computed lane by lane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

OUT = np.zeros(32, "u4")
A = np.random.default_rng(1).integers(0, 16, 32, "u4")
KINDS = {
    "mixed": A,
    "alike": np.full(32, 9, "u4"),
    "one different": np.where(np.arange(32) == 7, 2, 9).astype("u4"),
    "none": np.zeros(32, "u4"),
}
Lane = Callable[..., int | None]


def each(function: Lane) -> Callable[..., None]:
    """Return a check of `out` by a function of each lane's element of `a`; None: unchanged."""

    def want(t: object, a: np.ndarray, out: np.ndarray, n: int = 0) -> None:
        for lane in t.lane:
            found = function(int(a[lane]), int(n))
            if found is not None:
                out[lane] = found % 2**32

    return want


def program(*blocks: str) -> str:
    return "%v = load i32, ptr %a.lane\n" + "\n".join(blocks)
