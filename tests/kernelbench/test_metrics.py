"""The figures of a made-up run against a count by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from metalbench.kernelbench.answers import GenerationOutcome
from metalbench.kernelbench.candidates.source import OWN_WORK_MISSING
from metalbench.kernelbench.metrics import (
    MISSING,
    NOT_EVALUATED,
    EvaluatedSample,
    compute_figures,
    group_samples,
)
from metalbench.report.generations import figure_lines
from metalbench.stats import Interval, wilson_interval
from metalbench.store.history import Evaluation, SamplePlace


def right(value: float, low: float, high: float) -> EvaluatedSample:
    return EvaluatedSample(GenerationOutcome.CORRECT, Interval(value, low, high))


WRONG = EvaluatedSample(GenerationOutcome.WRONG)
BROKEN = EvaluatedSample(GenerationOutcome.DOES_NOT_COMPILE)
# Four problems with four samples each. Of sample 0: one is fast, one looks fast, one is wrong, one
# does not compile.
PROBLEMS = {
    ("level_1", 1): [right(2.0, 1.9, 2.1), WRONG, WRONG, WRONG],
    ("level_1", 2): [right(1.05, 0.9, 1.2), right(1.6, 1.5, 1.7), BROKEN, BROKEN],
    ("level_1", 3): [WRONG, right(0.6, 0.55, 0.65), MISSING, MISSING],
    ("level_1", 4): [BROKEN, BROKEN, BROKEN, BROKEN],
}


def test_shares_are_of_sample_0() -> None:
    found = compute_figures(PROBLEMS)
    assert (found.problems, found.samples) == (4, 16)
    assert found.compiled == wilson_interval(3, 4)
    assert found.correct == wilson_interval(2, 4)


def test_a_ratio_counts_when_its_lower_end_does() -> None:
    found = {each.p: each for each in compute_figures(PROBLEMS).fast}
    certain = {p: round(4 * each.certain.value) for p, each in found.items()}
    naive = {p: round(4 * each.naive.value) for p, each in found.items()}
    assert certain == {0: 2, 0.5: 2, 0.8: 2, 1: 1, 1.5: 1, 2: 0}
    assert naive == {0: 2, 0.5: 2, 0.8: 2, 1: 2, 1.5: 1, 2: 0}


def test_at_k_is_the_mean_of_the_problems_estimates() -> None:
    found = {
        (each.k, each.p): each.share.value
        for each in compute_figures(PROBLEMS, (1.0,), (1, 2, 4)).at_k
    }
    # Correct: 1, 2, 1 and 0 of four. Of two drawn: 1 - C(3,2)/C(4,2) = 1/2, 1 - C(2,2)/6 = 5/6.
    assert found[1, None] == pytest.approx((1 / 4 + 2 / 4 + 1 / 4 + 0) / 4)
    assert found[2, None] == pytest.approx((1 / 2 + 5 / 6 + 1 / 2 + 0) / 4)
    assert found[4, None] == pytest.approx(3 / 4)
    # Surely faster than MLX: one sample each of the first two problems.
    assert found[1, 1.0] == pytest.approx((1 / 4 + 1 / 4) / 4)
    assert found[2, 1.0] == pytest.approx((1 / 2 + 1 / 2) / 4)
    assert found[4, 1.0] == pytest.approx(2 / 4)


@pytest.mark.parametrize("stored", ["correct", "not by its own kernels"])
def test_a_sample_without_kernels_of_its_own_has_one_class(stored: str) -> None:
    by_mlx = replace(evaluation(1, stored), message=f"{OWN_WORK_MISSING[0]}: all of it is MLX's")
    samples = group_samples([by_mlx, evaluation(2, "correct")], {"level_1": [1, 2]}, 1, "compared")
    found = compute_figures(samples)
    assert found.outcomes == {GenerationOutcome.NOT_OWN: 1, GenerationOutcome.CORRECT: 1}
    assert found.correct.value == 0.5
    names = [name.strip() for name, _ in figure_lines(found, [found])]
    assert names.count("not by its own kernels") == 1


def test_samples_in_the_folder_without_an_evaluation_are_not_missing() -> None:
    found = group_samples(
        [evaluation(1, "correct")], {"level_1": [1, 2]}, 2, "compared",
        written=[("level_1", 1, 0), ("level_1", 2, 1)],
    )  # fmt: skip
    assert [each.outcome for each in found["level_1", 1]] == [
        GenerationOutcome.CORRECT,
        GenerationOutcome.MISSING,
    ]
    assert found["level_1", 2] == [MISSING, NOT_EVALUATED]
    assert not GenerationOutcome.NOT_EVALUATED.has_compiled


def test_the_mean_is_geometric_and_of_the_correct() -> None:
    found = compute_figures(PROBLEMS).mean_ratio
    assert found is not None
    assert found.value == pytest.approx(math.sqrt(2.0 * 1.05))
    assert compute_figures({("level_1", 4): [BROKEN]}).mean_ratio is None


def test_a_ratio_without_an_interval_is_reported_and_not_fast() -> None:
    found = compute_figures(
        {("a", 1): [right(3.0, -math.inf, math.inf)], ("a", 2): [WRONG]}, (1.0,)
    )
    assert found.fast[0].certain.value == 0
    assert found.fast[0].naive.value == 0.5
    assert found.without_ratio == 1


def test_classes_are_counted_over_all_samples() -> None:
    assert compute_figures(PROBLEMS).outcomes == {
        GenerationOutcome.CORRECT: 4,
        GenerationOutcome.WRONG: 4,
        GenerationOutcome.DOES_NOT_COMPILE: 6,
        GenerationOutcome.MISSING: 2,
    }


def test_the_curve_is_fast_p_of_the_table() -> None:
    found = compute_figures(PROBLEMS, thresholds=(0.0, 0.5, 1.0, 2.0))
    curve = dict(found.curve)
    # Of sample 0, as the table: with several samples the share of all would be another one.
    assert [curve[each.p] for each in found.fast] == [each.certain for each in found.fast]
    assert curve[0.0] == found.correct
    assert curve[0.0].value != pytest.approx(4 / 16)
    shares = [share.value for _, share in found.curve]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0


def evaluation(problem: int, outcome: str) -> Evaluation:
    place = SamplePlace("id", "level_1", problem, 0, "hash")
    kernel, forms = Interval(100, 98, 102), (("a + b", Interval(300, 290, 310)),)
    compiled = ("mx.compile: a + b", Interval(200, 195, 205))
    return Evaluation(
        place, outcome, "", "add", "seed", "float32", "cpu", "CPU", 1,
        kernel, Interval(2, 1.95, 2.05), (*forms, compiled),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("compared", Interval(2, 1.95, 2.05)),
        ("eager", Interval(3, 290 / 102, 310 / 98)),
        ("compiled", Interval(2, 195 / 102, 205 / 98)),
        ("fast", None),
    ],
)
def test_ratios_are_against_the_requested_form(baseline: str, expected: Interval | None) -> None:
    found = group_samples([evaluation(1, "correct")], {"level_1": [1, 2]}, 2, baseline)
    known = EvaluatedSample(GenerationOutcome.CORRECT, expected, task="add")
    assert found["level_1", 1] == [known, MISSING]
    assert found["level_1", 2] == [MISSING, MISSING]
