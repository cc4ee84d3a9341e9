"""Limits of the library's kernels: the limit itself is right, and a size beyond it is refused."""

from __future__ import annotations

import re

import pytest

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import Kind, VerifyPlan, verify

LIBRARY = Library()
GROUPS = "heads=2,kv_heads=1"


@pytest.mark.parametrize(
    ("name", "largest", "beyond", "limit"),
    [
        ("sort_rows", "rows=2,cols=8192", "rows=2,cols=8193", "cols <= 8192, got cols = 8193"),
        ("argsort_rows", "rows=2,cols=4096", "rows=2,cols=4097", "cols <= 4096"),
        ("moe_router", "tokens=5,experts=256", "tokens=5,experts=257", "experts <= 256"),
        ("moe_router_all", "tokens=5,experts=8", "tokens=5,experts=7", "k <= experts, got"),
        ("moe_router_biased", "tokens=5,experts=256", "tokens=5,experts=257", "experts <= 256"),
        ("gla", "tokens=3,heads=1,rows=2,cols=256", "tokens=3,heads=1,rows=2,cols=257", "cols <="),
        (
            "ssm_step",
            "batch=1,heads=2,groups=1,dims=4,states=256",
            "batch=1,heads=2,groups=1,dims=4,states=257",
            "states <= 256",
        ),
        ("wkv7", "tokens=3,heads=1,dims=256", "tokens=3,heads=1,dims=257", "dims <= 256"),
        (
            "sdpa_bool_mask",
            f"{GROUPS},tokens=9,dims=128",
            f"{GROUPS},tokens=9,dims=129",
            "dims <= 128",
        ),
        ("sdpa_decode", f"{GROUPS},keys=40,dims=256", f"{GROUPS},keys=40,dims=257", "dims <= 256"),
        (
            "sdpa_decode",
            "heads=6,kv_heads=3,keys=40,dims=64",
            "heads=6,kv_heads=4,keys=40,dims=64",
            r"heads % kv_heads == 0, got 2 \(heads = 6, kv_heads = 4\)",
        ),
        ("scaled_dot_product", "queries=9,keys=7,dims=128", "queries=9,keys=7,dims=136", "dims <="),
        (
            "abs",
            "rows=3,cols=5",
            "rows=65536,cols=65536",
            r"rows \* cols <= 4294967292, got 4294967296 \(cols = 65536, rows = 65536\)",
        ),
    ],
)
def test_the_limit_is_right_and_more_is_refused(
    name: str, largest: str, beyond: str, limit: str
) -> None:
    entry = LIBRARY.entry(name)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task)
    report = verify(builds, VerifyPlan(sizes=[largest], seeds=[0]))
    assert report.passed, report.findings
    (finding, *_) = verify(builds, VerifyPlan(sizes=[beyond], seeds=[0])).findings
    assert finding.kind is Kind.DISPATCH_ERROR
    assert re.search(rf"\[{name}\] \w+\.metal:\d+: expected {limit}", finding.message)
