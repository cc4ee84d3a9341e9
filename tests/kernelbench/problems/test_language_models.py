"""The language models of level 4: their parameters, what each token sees, and the reference."""

from __future__ import annotations

import math
import re

import mlx.core as mx
import numpy as np
import pytest

from metalbench import _core, reference
from metalbench.kernel.library import Entry, find
from metalbench.kernel.prepare import Builds
from metalbench.kernelbench.problems import on_numpy
from metalbench.kernelbench.problems.declaration import PROBLEMS
from metalbench.kernelbench.problems.language_models import causal, sparse_blocks
from metalbench.kernelbench.problems.layers import Layers
from metalbench.task.declaration import draw_size
from metalbench.task.workload import workload
from metalbench.verify import VerifyPlan, verify
from metalbench.verify.admission import BadResult, TaskCheck, admit

ENTRIES = find((), "kernelbench/level4")
BY_NUMBER = {int(each.name[4:7]): each for each in ENTRIES}
# One problem for each model, and BigBird's sparse attention.
OF_MODEL = {
    "gpt2": 16,
    "opt": 2,
    "gpt_neo": 3,
    "bart": 6,
    "electra": 11,
    "big_bird": 9,
    "big_bird_sparse": 5,
    "reformer": 13,
}
# Parameters of the published models. BART's is without the encoder and attention to it; those of
# ELECTRA and BigBird have the head for tokens.
PARAMETERS = {
    "gpt2": 124_439_808,
    "opt": 1_315_758_080,
    "gpt_neo": 2_651_307_520,
    "reformer": 149_182_722,
}
every_model = pytest.mark.parametrize("model", OF_MODEL)


def entry_of(model: str) -> Entry:
    return BY_NUMBER[OF_MODEL[model]]


def test_the_twenty_problems_have_their_batch_and_their_tokens() -> None:
    assert sorted(BY_NUMBER) == list(range(1, 21))
    for entry in ENTRIES:
        found = re.search(r"_bs(\d+)_seq(\d+)$", entry.name)
        assert found
        own = PROBLEMS[entry.task.name].sizes["paper"]
        assert (own["batch"], own["tokens"]) == (int(found[1]), int(found[2]))
        assert list(entry.task.sizes) == ["small", "odd", "cpu", "paper"]


@pytest.mark.parametrize("model", PARAMETERS)
def test_a_model_has_the_published_number_of_parameters(model: str) -> None:
    problem = PROBLEMS[entry_of(model).task.name]
    trace = problem.trace(problem.sizes["paper"])
    found = sum(math.prod(shape) for shape, _ in trace.parameters.values())
    assert found == PARAMETERS[model]
    batch, tokens, vocab = (problem.sizes["paper"][each] for each in ("batch", "tokens", "vocab"))
    assert trace.outputs == ((batch, tokens, vocab),)


@every_model
def test_the_reference_agrees_with_the_oracle(model: str) -> None:
    work = workload(entry_of(model).task, "small", seed=1)
    check = TaskCheck(work)
    for name, got in reference.outputs(work).items():
        assert check.factor(BadResult("MLX", name, got)) <= 1


@pytest.mark.slow
@every_model
def test_no_trivial_answer_is_accepted(model: str) -> None:
    trials = admit(entry_of(model).task, sizes=["small"])
    assert [each for each in trials if not each.rejected] == []


def logits(entry: Entry, change: int | None) -> np.ndarray:
    """The results at size small, with another token at the place `change`."""
    work = workload(entry.task, "small", seed=1)
    arrays = dict(work.inputs)
    if change is not None:
        x = arrays["x"].copy()
        x[:, change] = (x[:, change] + 1) % entry.task.sizes["small"]["vocab"]
        arrays["x"] = x
    given = {name: mx.array(each) for name, each in arrays.items()}
    return np.array(entry.task.reference(**given))


@every_model
def test_tokens_see_what_the_model_lets_them_see(model: str) -> None:
    entry = entry_of(model)
    before = logits(entry, None)
    place = before.shape[1] // 2
    changed = np.abs(logits(entry, place) - before).max(axis=(0, 2))
    assert changed[place:].min() > 1e-4
    # ELECTRA and BigBird see both directions.
    if model.startswith(("electra", "big_bird")):
        assert changed[:place].min() > 1e-6
    else:
        assert changed[:place].max() == 0


def test_sizes_that_are_drawn_have_a_position_for_each_token() -> None:
    for entry in ENTRIES:
        for seed in range(20):
            values = entry.task.values(draw_size(entry.task, seed))
            assert values["tokens"] <= values.get("positions", values.get("columns"))
            assert all(values[name] % step == 0 for name, step in entry.task.multiples.items())


# Several blocks of keys, of which some are out of a window; blocks of BigBird with several
# threadgroups, the last one in part.
LONG_SEQUENCES = {
    "gpt2": "batch=2,tokens=101,vocab=29,positions=101,dims=48",
    "gpt_neo": "batch=1,tokens=101,vocab=29,positions=101,dims=20,window=41",
    "electra": "batch=1,tokens=101,vocab=29,positions=101,embedded=8,dims=24,hidden=40",
    "big_bird_sparse": ("batch=1,tokens=301,vocab=29,positions=301,dims=24,hidden=40,block=24"),
    "reformer": "batch=2,tokens=101,vocab=29,rows=2,columns=101,dims=24,head=20,hidden=40",
}


@pytest.mark.slow
@pytest.mark.parametrize("model", LONG_SEQUENCES)
def test_the_kernel_is_right_for_several_blocks_of_keys(model: str) -> None:
    entry = entry_of(model)
    builds = Builds(_core.open("cpu"), entry.kernel(), entry.task)
    report = verify(builds, VerifyPlan(sizes=[LONG_SEQUENCES[model]]))
    assert report.passed, report.findings


def masks() -> Layers:
    return Layers(on_numpy, {})


def test_causal_has_a_window() -> None:
    seen = causal(masks(), 4) == 0
    assert seen.tolist() == np.tri(4).astype(bool).tolist()
    seen = causal(masks(), 4, window=2) == 0
    assert seen.astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_sparse_blocks_are_those_of_big_bird() -> None:
    assert sparse_blocks(masks(), 22, 2) is None
    # The last block has one token, as 4095 tokens have it.
    times = np.exp(sparse_blocks(masks(), 25, 2)).round().astype(int)
    assert times.shape == (25, 25)
    blocks = times[::2, ::2]
    assert (np.repeat(np.repeat(blocks, 2, 0), 2, 1)[:25, :25] == times).all()
    count = len(blocks)
    assert (blocks[0] == 1).all()
    assert (blocks[-1] == 1).all()
    for block in range(1, count - 1):
        # Three random blocks are the first one, besides the first itself.
        keys = [0, 0, 0, *{0, block - 1, block, block + 1, count - 1}]
        assert blocks[block].tolist() == np.bincount(keys, minlength=count).tolist()
