"""Checks of MLX's own kernels have no errors except known ones of four kernels."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import pytest
from mlx_kernels.bench import Bench, Check
from mlx_kernels.checks import CHECKS
from mlx_kernels.family import Family

from metalbench import _core
from metalbench.checking.findings import KINDS, TOOLS

# By check: the kind of finding, and the header that it is in. docs/how-to/check.md says why.
KNOWN = {
    "gemv": {("barrier", "gemv.h")},
    "fft": {("barrier", "fft.h")},
    "scan": {("uninitialised", "scan.h")},
    "gemm": {("wild-pointer", "steel_gemm_fused.h")},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "function"), CHECKS, ids=[f"{f.name}-{c.__name__}" for f, c in CHECKS]
)
def test_checked_runs_have_known_findings_only(
    family: Family, function: Check, headers: Path
) -> None:
    bench = Bench(_core.open("cpu"), headers, tools=TOOLS)
    with mx.stream(mx.cpu):
        wrong = [outcome for outcome in function(bench) if not outcome.passed]
    errors = [each for each in bench.found if not KINDS[each.rule].is_warning]
    found = {(each.rule, Path(each.frames[0].file).name if each.frames else "") for each in errors}
    assert found == KNOWN.get(function.__name__, set()), "\n".join(
        f"{each.rule} {each.frames[:1]} {each.message}" for each in errors
    )
    # A barrier that not all reach ends its threadgroup, and a null pointer its thread.
    is_cut_short = bool({"barrier", "wild-pointer"} & {each.rule for each in errors})
    assert is_cut_short or not wrong, "\n".join(map(str, wrong))
