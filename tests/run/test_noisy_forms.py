"""The choice of the reference's form if times scatter."""

from __future__ import annotations

import numpy as np
import pytest
from run.example_forms import COST, LAUNCH, declared, sum_of_three

from metalbench.reference import Reference
from metalbench.run.reference_forms import choose_form
from metalbench.task.workload import workload


class NoisyReference(Reference):
    """Takes given times with a noise of 10 %, and runs nothing."""

    def begin(self, cost: dict[str, float], seed: int, pass_s: float = 1e-4) -> None:
        self.now, self.turns, self.cost = 0.0, [], cost
        self.noise = np.random.default_rng(seed)
        self.pass_s = pass_s

    def __call__(self, repetitions: int) -> None:
        self.turns.append(self.form.kind)
        cost = self.cost.get(self.form.kind, 0.0) * self.pass_s * repetitions
        self.now += cost * self.noise.lognormal(0.0, 0.1)


def picked(reference: NoisyReference, cost: dict[str, float], seed: int, **options):
    reference.begin(cost, seed, **options)
    found = choose_form(reference, seed=seed, clock=lambda: reference.now)
    return reference.form.kind, found


@pytest.fixture(scope="module")
def noisy() -> NoisyReference:
    against = ("eager", "compiled", "fast")
    return NoisyReference(workload(declared(sum_of_three, against), "seed"))


def wrongly_picked(
    noisy: NoisyReference, slower: float, rivals: tuple[str, ...], trials: int
) -> int:
    """One form is the fastest, `rivals` are as much slower, any other is out of the question."""
    cost = {kind: slower if kind in rivals else 1.5 for kind in COST} | {"eager": 1.0}
    return sum(picked(noisy, cost, seed)[0] != "eager" for seed in range(trials))


RIVALS = [("compiled",), ("compiled", "fast")]


@pytest.mark.parametrize("rivals", RIVALS)
def test_a_form_five_percent_slower_is_hardly_ever_picked(noisy, rivals):
    assert wrongly_picked(noisy, 1.05, rivals, 100) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("slower", [1.03, 1.05])
@pytest.mark.parametrize("rivals", RIVALS)
def test_a_form_three_percent_slower_is_rarely_chosen(noisy, slower, rivals):
    trials = 1000
    wrong = wrongly_picked(noisy, slower, rivals, trials)
    print(f"\n{slower}, {rivals}: {wrong / trials:.1%} wrong")
    assert wrong <= 0.05 * trials


def test_a_clearly_slower_form_is_timed_briefly(noisy):
    cost = {"eager": 1.0, "compiled": 1.0, "fast": 2.0}
    kind, _ = picked(noisy, cost, 3)
    turns = {kind: noisy.turns.count(kind) for kind in cost}
    assert kind != "fast"
    assert turns["fast"] < 20
    assert turns["eager"] == pytest.approx(turns["compiled"], abs=5)
    assert turns["eager"] > 50


def test_clear_differences_need_no_more_than_the_least_turns(noisy):
    kind, found = picked(noisy, {"eager": 3.0, "compiled": 2.0, "fast": 1.0}, 0)
    assert kind == "fast"
    assert noisy.now < 0.1
    assert all(form.time_ns.is_bounded for form in found.forms)


def test_an_unsettled_choice_is_a_doubt(noisy):
    cost = {"eager": 1.0, "compiled": 1.01, "fast": 3.0}
    doubts = [picked(noisy, cost, seed, pass_s=0.01)[1].doubts for seed in range(20)]
    found = [doubt for each in doubts for doubt in each]
    assert len(found) >= 10
    assert all("reference may be faster: " in doubt and "by up to" in doubt for doubt in found)


def test_the_launch_of_a_slow_reference_is_not_timed(noisy):
    picked(noisy, {"eager": 1.0, "compiled": 3.0, "fast": 3.0}, 0, pass_s=0.01)
    assert LAUNCH not in noisy.turns


def test_turns_are_in_random_order(noisy):
    picked(noisy, {"eager": 1.0, "compiled": 1.0, "fast": 1.0}, 5)
    rounds = [tuple(noisy.turns[i : i + 3]) for i in range(3, 3 + 21, 3)]
    assert all(set(each) == set(COST) for each in rounds)
    assert len(set(rounds)) > 2
