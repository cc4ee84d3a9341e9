"""`PYTHONPATH=tests python -m msl.accuracy`: the largest error of every inexact math function."""

from __future__ import annotations

import numpy as np
from msl.conformance import edges, run, samples, ulps
from msl.math_oracles import ONE, TWO

from metalbench import _core


def main() -> None:
    """Print units in the last place, of float (fast and precise) and of all halves."""
    cpu = _core.open("cpu")
    print("function   allowed  float fast  precise     half")
    with np.errstate(all="ignore"):
        for calls in (ONE, TWO):
            columns = [_errors(cpu, calls, "float", fast=fast) for fast in (True, False)]
            columns.append(_errors(cpu, calls, "half", fast=True))
            for call, *errors in zip(calls, *columns, strict=True):
                if call.ulps:
                    figures = "".join(f"{error:12.3f}" for error in errors)
                    print(f"{call.name:10} {call.ulps:7}{figures}")


def _errors(cpu: _core.Device, calls: list, kind: str, *, fast: bool) -> list[float]:
    count = 1 << 18
    inputs = [samples(kind, count, seed) for seed in range(1, 2 + (calls is TWO))]
    if kind == "half" and calls is ONE:
        inputs = [np.arange(1 << 16, dtype=np.uint16).view(np.float16)]
    if fast:
        # Beyond, fast functions of angles and fast division are not defined.
        tame = [np.abs(np.nan_to_num(x.astype(np.float64), nan=1.0)) for x in inputs]
        inputs = [
            np.where((size < 2.0**40) & (size > 2.0**-40), x, edges(kind)[1])
            for x, size in zip(inputs, tame, strict=True)
        ]
    results = run(cpu, calls, inputs, kind=kind, fast_math=fast)[:, 0]
    wide = [x.astype(np.float64) for x in inputs]
    return [
        float(ulps(got, call.oracle(*wide), kind).max())
        for call, got in zip(calls, results, strict=True)
    ]


if __name__ == "__main__":
    main()
