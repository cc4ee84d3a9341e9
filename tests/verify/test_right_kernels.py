"""Kernels in float32 that are right in other ways than the reference: verification accepts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel import header
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, all_sizes, small_sizes, verify

RIGHT = sorted((Path(__file__).parent / "right").glob("*.metal"))
SEEDS = 20


def messages(path, sizes, **options):
    task = Library().entry("softmax").task
    report = verify(
        Builds(_core.open("cpu"), header.read(path), task), VerifyPlan(sizes=sizes(task), **options)
    )
    return list(map(str, report.findings))


@pytest.mark.whole
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_softmax_passes_with_every_variation(path):
    assert messages(path, small_sizes) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_softmax_passes_at_all_sizes_and_seeds(path):
    def list_sizes(task):
        # In a row of 152064 elements each of the 32 lanes adds 4752 numbers one after the other.
        # Equal ones round alike: results are off by up to 440 roundoffs, which no bound allows.
        return [size for size in all_sizes(task, seed) if size != "vocabulary"]

    for seed in range(SEEDS):
        assert messages(path, list_sizes, seeds=[seed]) == []
