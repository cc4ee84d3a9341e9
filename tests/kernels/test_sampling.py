"""Samplers and speculative sampling: distributions, and logits that many tokens share."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.task import threefry

KEY = np.array([12, 345], np.uint32)
ALL = {"penalty": 1.0, "temperature": 1.0, "count": 0, "p": 1.0, "least": 0.0}


def draw(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.Generator(np.random.Philox(seed)).standard_normal(shape, np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def assert_close_frequencies(tokens: np.ndarray, odds: np.ndarray) -> None:
    """Frequencies are within five deviations of what is expected."""
    counts = np.bincount(tokens, minlength=len(odds))
    deviations = np.sqrt(len(tokens) * odds * (1 - odds)) + 1e-9
    assert np.abs(counts - len(tokens) * odds).max() < 5 * deviations.max()
    assert not counts[odds == 0].any()


@pytest.mark.parametrize(
    "rule",
    [
        ALL,
        {**ALL, "count": 7},
        {**ALL, "p": 0.6},
        {**ALL, "least": 0.3},
        {"penalty": 2.0, "temperature": 0.7, "count": 20, "p": 0.8, "least": 0.05},
    ],
    ids=["all", "top-k", "top-p", "min-p", "together"],
)
def test_sample_token_draws_by_the_odds_of_what_stays(rule: dict[str, float]) -> None:
    rows, vocabulary, tokens = 4000, 48, 300
    logits = draw((vocabulary,)) * 2
    seen = np.full((rows, tokens), 5, np.uint32)
    x = logits.astype(np.float64)
    x[5] = x[5] / rule["penalty"] if x[5] > 0 else x[5] * rule["penalty"]
    odds = softmax(x / rule["temperature"])
    order = np.argsort(-odds)
    if rule["count"]:
        odds[order[int(rule["count"]) :]] = 0
    odds /= odds.sum()
    before = odds[order].cumsum() - odds[order]
    odds[order[before >= rule["p"]]] = 0
    odds[odds < rule["least"] * odds.max()] = 0
    odds /= odds.sum()
    _, found = compute(
        "sample_token",
        f"rows={rows},vocabulary={vocabulary}",
        constants=rule,
        logits=np.tile(logits, (rows, 1)),
        seen=seen,
        key=KEY,
    )
    assert_close_frequencies(found["y"], odds)


@pytest.mark.parametrize("count", [0, 3, 4000])
def test_sample_token_draws_of_more_equal_logits_than_are_candidates(count: int) -> None:
    rows, vocabulary = 2, 3000
    logits = np.full((rows, vocabulary), -2.0, np.float32)
    logits[:, ::2] = 1.5
    _, found = compute(
        "sample_token",
        f"rows={rows},vocabulary={vocabulary}",
        constants={**ALL, "count": count, "p": 0.9},
        logits=logits,
        key=KEY,
    )
    gumbel = threefry.gumbel(KEY, logits.size).reshape(logits.shape)
    np.testing.assert_array_equal(
        found["y"], np.argmax(np.where(logits > 0, gumbel, -np.inf), axis=-1)
    )


def test_sample_token_penalises_tokens_of_every_block_of_the_vocabulary() -> None:
    vocabulary, tokens = 140001, 300
    logits = draw((1, vocabulary))
    likely = [3, 65535, 65536, 131072, 140000]
    logits[0, likely] = [20, 30, 40, 50, 60]
    seen = np.array(likely[1:] * 75, np.uint32)[None, :tokens]
    _, found = compute(
        "sample_token",
        f"rows=1,vocabulary={vocabulary}",
        constants={**ALL, "penalty": 4.0, "temperature": 0.01},
        logits=logits,
        seen=seen,
        key=KEY,
    )
    assert found["y"] == [3]


def test_speculative_verify_draws_by_the_odds_of_the_target() -> None:
    """The first token, accepted or drawn anew, has the distribution of the target."""
    texts, drafted, vocabulary = 6000, 1, 40
    target, draft = draw((drafted + 1, vocabulary)), draw((drafted, vocabulary), seed=2)
    random = np.random.Generator(np.random.Philox(3))
    proposed = random.choice(vocabulary, (texts, drafted), p=softmax(draft[0].astype(np.float64)))
    _, found = compute(
        "speculative_verify",
        f"texts={texts},drafted={drafted},vocabulary={vocabulary}",
        target=np.tile(target, (texts, 1, 1)),
        draft=np.tile(draft, (texts, 1, 1)),
        proposed=proposed.astype(np.uint32),
        uniform=random.random((texts, drafted), np.float32),
        key=KEY,
    )
    odds = softmax(target.astype(np.float64))
    was_accepted = found["accepted"] == 1
    assert 0.2 < was_accepted.mean() < 0.9
    assert_close_frequencies(np.where(was_accepted, proposed[:, 0], found["token"]), odds[0])
    assert_close_frequencies(found["token"][was_accepted], odds[1])


def test_speculative_greedy_counts_up_to_the_first_other_token() -> None:
    target = draw((33, 6, 1023))
    best = target.argmax(axis=-1)
    proposed = best[:, :-1].astype(np.uint32)
    wrong = np.arange(33) % 6
    for text, at in enumerate(wrong):
        proposed[text, at:] = (proposed[text, at:] + 1) % 1023
    _, found = compute("speculative_greedy", target=target, proposed=proposed)
    np.testing.assert_array_equal(found["accepted"], wrong)
    np.testing.assert_array_equal(found["token"], best[np.arange(33), wrong])
