"""Forms of the reference: which are there, which are right, which is the one to beat."""

from __future__ import annotations

import itertools
from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.reference import Reference
from metalbench.reference.convert import to_mlx
from metalbench.reference.forms import ON_ONE_ELEMENT
from metalbench.run import contest
from metalbench.run.contest import settle
from metalbench.task import Task, normal, output, task
from metalbench.task.workload import workload

COST = {"eager": 3.0, "compiled": 2.0, "fast": 1.0}
LAUNCH = "one element"


def declared(fast=None, against=("eager", "compiled")) -> Task:
    @task(
        sizes=dict(seed=dict(n=2048)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        constants=dict(times=3.0),
        oracle=lambda x, times: times * x,
        flops="n",
        baseline="times * x",
        fast=fast,
        against=against,
    )
    def scaled(x, times):
        return times * x

    return scaled


def sum_of_three(x, times):
    return x + x + x


def off_by_a_little(x, times):
    return x * (times * 1.0001)


def broken(x, times):
    raise RuntimeError("no such operation\non this device")


class TimedReference(Reference):
    """Takes the time that is told, and runs nothing."""

    now = 0.0
    calls = 0
    launch = 0.1  # of the time of the fastest form

    def __call__(self, repetitions: int) -> None:
        self.calls += 1
        noise = 1 + 1e-3 * (self.calls % 5)
        cost = {**COST, LAUNCH: self.launch}[self.form.kind]
        self.now += cost * 1e-4 * repetitions * noise


def settled(declared: Task):
    reference = TimedReference(workload(declared, "seed"))
    times = settle(reference, clock=lambda: reference.now).forms
    return reference, {form.kind: time for form, time in zip(reference.forms, times, strict=True)}


def test_eager_and_compiled_forms_are_there_without_being_asked_for():
    reference, times = settled(declared())
    assert [form.name for form in reference.forms] == ["times * x", "mx.compile: times * x"]
    assert reference.form.kind == "compiled"
    assert [time.compared for time in times.values()] == [False, True]
    assert times["eager"].time_ns.value == pytest.approx(3e5, rel=0.01)
    assert times["eager"].time_ns.bounded


def test_a_fast_form_is_told_but_only_compared_with_if_the_task_says_so():
    reference, times = settled(declared(sum_of_three))
    assert reference.form.kind == "compiled"
    assert times["fast"].time_ns.value == pytest.approx(1e5, rel=0.01)
    reference, times = settled(declared(sum_of_three, ("eager", "compiled", "fast")))
    assert reference.form.kind == "fast"
    assert times["fast"].compared


def test_a_form_that_is_wrong_is_told_and_not_compared_with():
    reference, times = settled(declared(off_by_a_little, ("fast",)))
    assert reference.form.kind == "compiled"
    assert times["fast"].time_ns is None
    assert "more than rounding" in times["fast"].fault


def test_a_form_that_does_not_run_is_told_in_one_line():
    _, times = settled(declared(broken, ("eager", "fast")))
    assert times["fast"].fault == "RuntimeError: no such operation"


def test_all_forms_compute_the_same():
    reference = Reference(workload(declared(sum_of_three), "seed"))
    first, *others = (reference.outputs_of(form)[0] for form in reference.forms)
    for other in others:
        assert abs(other - first).max() < 1e-5


def test_a_slow_reference_is_run_in_no_other_form():
    reference = TimedReference(workload(declared(), "seed"))
    ticks = itertools.count()
    eager, compiled = settle(reference, seconds=2.0, clock=lambda: float(next(ticks))).forms
    assert reference.form.kind == "eager"
    assert eager.compared
    assert compiled.time_ns is None
    assert "too long" in compiled.fault


@task(
    sizes=dict(seed=dict(n=2048)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x.cumsum(),
    flops="n",
    baseline="mx.cumsum",
    fast=lambda x: mx.cumsum(x) + 0,
)
def running_sum(x):
    return mx.cumsum(x)


@pytest.fixture
def never_compared(monkeypatch):
    monkeypatch.setattr(contest, "_fault", lambda *_: "")
    seen = []
    monkeypatch.setattr(Reference, "outputs_of", lambda _, form: seen.append(form.kind) or [form])
    return seen


@pytest.mark.parametrize("launch", [0.001, 0.5])
def test_a_form_that_compiles_to_itself_takes_no_turns(never_compared, launch):
    reference = TimedReference(workload(replace(running_sum, fast=None), "seed"))
    reference.launch = 3 * launch
    found = settle(reference, clock=lambda: reference.now)
    eager, compiled = found.forms
    assert compiled.fault == "not timed, for it is compiled to the operations of mx.cumsum"
    assert compiled.time_ns is None
    assert (eager.compared, reference.form.kind) == (True, "eager")
    assert eager.time_ns.value == pytest.approx(3e-4 * 1e9, rel=0.01)
    assert never_compared == []
    # What a launch is of it is still known.
    assert ["and the whole reference" in doubt for doubt in found.doubts] == [True] * (launch > 0.1)


def test_forms_that_differ_go_on_without_it(never_compared):
    reference = TimedReference(workload(running_sum, "seed"))
    eager, compiled, fast = settle(reference, clock=lambda: reference.now).forms
    assert "is compiled to the operations" in compiled.fault
    assert eager.time_ns is not None
    assert fast.time_ns is not None


@pytest.mark.parametrize(("pass_s", "calls"), [(0.0, 1), (0.051, 0)])
def test_far_from_a_launch_it_is_timed_no_more_than_that_takes(monkeypatch, pass_s, calls):
    monkeypatch.setitem(COST, "eager", 100.0)
    reference = TimedReference(workload(replace(running_sum, fast=None), "seed"))
    eager, _ = settle(reference, pass_s=pass_s, clock=lambda: reference.now).forms
    assert (eager.compared, eager.time_ns, reference.calls) == (True, None, calls)


def test_a_reference_that_cannot_be_traced_is_timed_in_every_form(monkeypatch):
    monkeypatch.setattr(Reference, "operations_of", broken)
    _, times = settled(replace(running_sum, fast=None))
    assert all(form.time_ns is not None for form in times.values())


def test_a_reference_that_is_known_to_be_far_too_slow_is_not_run_at_all(monkeypatch):
    reference = TimedReference(workload(declared(), "seed"))
    monkeypatch.setattr(Reference, "outputs_of", lambda *_: pytest.fail("it was run"))
    eager, compiled = settle(reference, seconds=2.0, pass_s=1.1).forms
    assert (reference.form.kind, reference.calls) == ("eager", 0)
    assert eager.compared
    assert "too long" in compiled.fault


def test_one_that_may_have_been_slowed_down_is_timed():
    reference = TimedReference(workload(declared(), "seed"))
    forms = settle(reference, seconds=2.0, pass_s=0.9, clock=lambda: reference.now).forms
    assert reference.form.kind == "compiled"
    assert all(form.time_ns is not None for form in forms)


@pytest.mark.parametrize(
    ("against", "message"),
    [(("fast",), "no form 'fast'"), ((), "expected some of eager, compiled, got none")],
)
def test_a_task_can_only_be_against_forms_that_it_has(against, message):
    with pytest.raises(DeclarationError, match=message):
        declared(against=against)


def test_copies_take_turns_from_one_call_to_the_next(monkeypatch):
    reference = Reference(workload(declared(), "seed"), copies=3)
    seen = []
    firsts = {id(copy): index for index, copy in enumerate(reference._inputs)}
    original = reference.form.function

    def watching(**inputs):
        turn = (reference._turn - 1) % 3
        seen.append(firsts[id(reference._inputs[turn])])
        return original(**inputs)

    object.__setattr__(reference.form, "function", watching)
    reference(3)
    seen.clear()
    reference(2)
    reference(5)
    assert seen == list(itertools.islice(itertools.cycle(range(3)), 7))
    assert len(reference._kept) == 3
    mx.eval(reference._kept)


class NoisyReference(Reference):
    """Takes the time that is told with a noise of 10 %, and runs nothing."""

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
    found = settle(reference, seed=seed, clock=lambda: reference.now)
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
@pytest.mark.parametrize("slower", [1.021, 1.03, 1.05])
@pytest.mark.parametrize("rivals", RIVALS)
def test_a_form_more_than_two_percent_slower_is_seldom_picked(noisy, slower, rivals):
    trials = 1000
    wrong = wrongly_picked(noisy, slower, rivals, trials)
    print(f"\n{slower}, {rivals}: {wrong / trials:.1%} wrong")
    assert wrong <= 0.05 * trials


def test_a_form_that_is_clearly_slower_has_few_turns(noisy):
    cost = {"eager": 1.0, "compiled": 1.0, "fast": 2.0}
    kind, _ = picked(noisy, cost, 3)
    turns = {kind: noisy.turns.count(kind) for kind in cost}
    assert kind != "fast"
    assert turns["fast"] < 20
    assert turns["eager"] == pytest.approx(turns["compiled"], abs=5)
    assert turns["eager"] > 100


def test_clear_differences_need_no_more_than_the_least_turns(noisy):
    kind, found = picked(noisy, {"eager": 3.0, "compiled": 2.0, "fast": 1.0}, 0)
    assert kind == "fast"
    assert noisy.now < 0.1
    assert all(form.time_ns.bounded for form in found.forms)


def test_a_choice_that_time_does_not_allow_to_settle_is_doubted(noisy):
    cost = {"eager": 1.0, "compiled": 1.01, "fast": 3.0}
    doubts = [picked(noisy, cost, seed, pass_s=0.02)[1].doubts for seed in range(20)]
    found = [doubt for each in doubts for doubt in each]
    assert len(found) >= 10
    assert all("may be faster than" in doubt and "by up to" in doubt for doubt in found)


@pytest.mark.parametrize(
    ("launch", "told"), [(0.0, None), (0.19, None), (0.21, "11%"), (1.0, "50%"), (9.0, "100%")]
)
def test_a_reference_that_is_mostly_its_launch_is_told(launch, told):
    reference = TimedReference(workload(declared(), "seed"))
    reference.launch = launch  # of 2.0 that the compiled form takes
    doubts = settle(reference, clock=lambda: reference.now).doubts
    assert reference.form.kind == "compiled"
    assert len(doubts) == (told is not None)
    for doubt in doubts:
        assert f"up to {told} of that is how MLX is called" in doubt
        assert "the whole reference 200." in doubt


def test_of_a_slow_reference_no_launch_is_timed(noisy):
    picked(noisy, {"eager": 1.0, "compiled": 3.0, "fast": 3.0}, 0, pass_s=0.01)
    assert LAUNCH not in noisy.turns


def test_what_a_launch_is_told_by_runs_on_any_inputs():
    for entry in Library():
        inputs = workload(entry.task, "small").inputs
        result = ON_ONE_ELEMENT.function(**{name: to_mlx(each) for name, each in inputs.items()})
        assert result.size == 1


def test_turns_are_in_random_order(noisy):
    picked(noisy, {"eager": 1.0, "compiled": 1.0, "fast": 1.0}, 5)
    rounds = [tuple(noisy.turns[i : i + 3]) for i in range(3, 3 + 21, 3)]
    assert all(set(each) == set(COST) for each in rounds)
    assert len(set(rounds)) > 2
