"""Seeds that cannot be known before a run."""

from __future__ import annotations

from metalbench.cli.options import draw_secret_seed
from metalbench.kernel.library import Library


def test_draw_secret_seed_gives_different_seeds_with_plain_distributions() -> None:
    seeds = {draw_secret_seed() for _ in range(100)}
    assert len(seeds) == 100
    inputs = [each for entry in Library() for each in entry.task.inputs.values()]
    assert all(each.variation(seed) is None for each in inputs for seed in seeds)
