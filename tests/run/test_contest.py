"""Forms of the reference: which are there, which are right, which is the one to beat."""

from __future__ import annotations

import itertools
from dataclasses import replace

import mlx.core as mx
import pytest
from run.example_forms import COST, LAUNCH, declared, sum_of_three

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.reference import Reference
from metalbench.reference.chain import ON_ONE_ELEMENT
from metalbench.reference.evaluate import to_mlx
from metalbench.run import reference_forms
from metalbench.run.reference_forms import choose_form
from metalbench.task import Task, normal, output, task
from metalbench.task.workload import workload


def off_by_a_little(x, times):
    return x * (times * 1.0001)


def broken(x, times):
    raise RuntimeError("no such operation\non this device")


class TimedReference(Reference):
    """Takes given times, and runs nothing."""

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
    times = choose_form(reference, clock=lambda: reference.now).forms
    return reference, {form.kind: time for form, time in zip(reference.forms, times, strict=True)}


def test_eager_and_compiled_forms_exist_by_default():
    reference, times = settled(declared())
    assert [form.name for form in reference.forms] == ["times * x", "mx.compile: times * x"]
    assert reference.form.kind == "compiled"
    assert [time.compared for time in times.values()] == [False, True]
    assert times["eager"].time_ns.value == pytest.approx(3e5, rel=0.01)
    assert times["eager"].time_ns.is_bounded


def test_a_fast_form_is_compared_only_if_the_task_declares_it():
    reference, times = settled(declared(sum_of_three))
    assert reference.form.kind == "compiled"
    assert times["fast"].time_ns.value == pytest.approx(1e5, rel=0.01)
    reference, times = settled(declared(sum_of_three, ("eager", "compiled", "fast")))
    assert reference.form.kind == "fast"
    assert times["fast"].compared


def test_a_reference_is_not_compiled_if_the_task_does_not_compare_with_that():
    reference, times = settled(declared(sum_of_three, ("eager",)))
    assert reference.form.kind == "eager"
    assert list(times) == ["eager", "fast"]


def test_a_wrong_form_is_reported_and_not_compared():
    reference, times = settled(declared(off_by_a_little, ("compiled", "fast")))
    assert reference.form.kind == "compiled"
    assert times["fast"].time_ns is None
    assert "more than rounding" in times["fast"].fault


def test_a_form_that_does_not_run_has_a_fault_of_one_line():
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
    eager, compiled = choose_form(reference, seconds=2.0, clock=lambda: float(next(ticks))).forms
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
    monkeypatch.setattr(reference_forms, "_find_fault", lambda *_: "")
    seen = []
    monkeypatch.setattr(Reference, "outputs_of", lambda _, form: seen.append(form.kind) or [form])
    return seen


@pytest.mark.parametrize("launch", [0.001, 0.5])
def test_a_form_that_compiles_to_itself_is_not_timed(never_compared, launch):
    reference = TimedReference(workload(replace(running_sum, fast=None), "seed"))
    reference.launch = 3 * launch
    found = choose_form(reference, clock=lambda: reference.now)
    eager, compiled = found.forms
    assert compiled.fault == "not timed, for it is compiled to the operations of mx.cumsum"
    assert compiled.time_ns is None
    assert (eager.compared, reference.form.kind) == (True, "eager")
    assert eager.time_ns.value == pytest.approx(3e-4 * 1e9, rel=0.01)
    assert never_compared == []
    # What a launch is of it is still known.
    assert ["and the whole reference" in doubt for doubt in found.doubts] == [True] * (launch > 0.1)


def test_a_form_that_compiles_to_itself_does_not_stop_the_contest_of_others(never_compared):
    reference = TimedReference(workload(running_sum, "seed"))
    eager, compiled, fast = choose_form(reference, clock=lambda: reference.now).forms
    assert "is compiled to the operations" in compiled.fault
    assert eager.time_ns is not None
    assert fast.time_ns is not None


@pytest.mark.parametrize(("pass_s", "calls"), [(0.0, 1), (0.051, 0)])
def test_the_launch_of_a_long_reference_is_timed_briefly(monkeypatch, pass_s, calls):
    monkeypatch.setitem(COST, "eager", 100.0)
    reference = TimedReference(workload(replace(running_sum, fast=None), "seed"))
    eager, _ = choose_form(reference, pass_s=pass_s, clock=lambda: reference.now).forms
    assert (eager.compared, eager.time_ns, reference.calls) == (True, None, calls)


def test_an_untraceable_reference_is_timed_in_every_form(monkeypatch):
    monkeypatch.setattr(Reference, "operations_of", broken)
    _, times = settled(replace(running_sum, fast=None))
    assert all(form.time_ns is not None for form in times.values())


def test_a_reference_known_to_be_too_slow_is_not_run(monkeypatch):
    reference = TimedReference(workload(declared(), "seed"))
    monkeypatch.setattr(Reference, "outputs_of", lambda *_: pytest.fail("it was run"))
    eager, compiled = choose_form(reference, seconds=2.0, pass_s=1.1).forms
    assert (reference.form.kind, reference.calls) == ("eager", 0)
    assert eager.compared
    assert "too long" in compiled.fault


def test_a_reference_that_may_be_disturbed_is_timed():
    reference = TimedReference(workload(declared(), "seed"))
    forms = choose_form(reference, seconds=2.0, pass_s=0.9, clock=lambda: reference.now).forms
    assert reference.form.kind == "compiled"
    assert all(form.time_ns is not None for form in forms)


@pytest.mark.parametrize(
    ("against", "message"),
    [(("fast",), "no form 'fast'"), ((), "expected some of eager, compiled, got none")],
)
def test_a_task_can_only_compare_with_existing_forms(against, message):
    with pytest.raises(DeclarationError, match=message):
        declared(against=against)


def test_copies_take_turns_from_one_call_to_the_next(monkeypatch):
    reference = Reference(workload(declared(), "seed"), copies=3, keeps=3)
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


@pytest.mark.parametrize(
    ("launch", "share"), [(0.0, None), (0.19, None), (0.21, "11%"), (1.0, "50%"), (9.0, "100%")]
)
def test_a_reference_of_mostly_launch_time_is_a_doubt(launch, share):
    reference = TimedReference(workload(declared(), "seed"))
    reference.launch = launch  # of 2.0 that the compiled form takes
    doubts = choose_form(reference, clock=lambda: reference.now).doubts
    assert reference.form.kind == "compiled"
    assert len(doubts) == (share is not None)
    for doubt in doubts:
        assert f"(up to {share}); nothing is subtracted" in doubt
        assert "the whole reference 200." in doubt


def test_the_launch_probe_runs_on_inputs_of_every_task():
    for entry in Library():
        inputs = workload(entry.task, "small").inputs
        result = ON_ONE_ELEMENT.function(**{name: to_mlx(each) for name, each in inputs.items()})
        assert result.size == 1
