"""The form to beat is remembered: for as long as it says something, and never by half."""

from __future__ import annotations

import pytest
from run.example_forms import declared, sum_of_three

from metalbench.measure.measurement import FormTime
from metalbench.reference import Reference
from metalbench.run import reference_forms
from metalbench.run.reference_forms import FormChoice
from metalbench.stats import Interval
from metalbench.task.workload import workload

WHERE = "a processor", "warm"
TIMES = {"times * x": 300.0, "mx.compile: times * x": 200.0}
DAY = 86_400.0


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))


def reference(**changes):
    return Reference(workload(declared(**changes), "seed"))


def contest(best="mx.compile: times * x", *, decided=True):
    forms = [
        FormTime(name, Interval(ns, ns, ns), compared=name == best) for name, ns in TIMES.items()
    ]
    return FormChoice(tuple(forms), ("launched for long",), decided=decided)


def remembered(where=WHERE, *, after=0.0, **changes):
    return reference_forms.load_choice(reference(**changes), *where, now=lambda: after)


def test_a_stored_choice_prevents_a_second_contest():
    reference_forms.store_choice(contest(), reference(), *WHERE, now=lambda: 0.0)
    again = reference()
    settled = reference_forms.load_choice(again, *WHERE, now=lambda: DAY)
    assert again.form.name == "mx.compile: times * x"
    eager, compiled = settled.forms
    assert not eager.compared
    assert eager.time_ns is None
    assert eager.fault == "not timed again: it was 1.50x as slow in a contest of 1970-01-01"
    assert compiled == FormTime("mx.compile: times * x", None, compared=True)
    assert settled.doubts == ("launched for long",)


def test_store_choice_keeps_the_faults_of_other_forms():
    left_out = FormTime("mx.fast", None, fault="y differs from the eager form's")
    known = contest()
    reference_forms.store_choice(
        FormChoice((*known.forms, left_out), decided=True),
        reference(fast=sum_of_three),
        *WHERE,
        now=lambda: 0.0,
    )
    assert remembered(fast=sum_of_three).forms[-1] == left_out


@pytest.mark.parametrize("after", [-1.0, 7 * DAY])
def test_a_stored_choice_expires_after_a_week(after):
    reference_forms.store_choice(contest(), reference(), *WHERE, now=lambda: 0.0)
    assert remembered(after=7 * DAY - 1) is not None
    assert remembered(after=after) is None


def test_store_choice_does_not_store_undecided_choices():
    reference_forms.store_choice(contest(decided=False), reference(), *WHERE, now=lambda: 0.0)
    assert remembered() is None


@pytest.mark.parametrize("where", [("another", "warm"), ("a processor", "cold")])
def test_a_stored_choice_is_valid_for_its_machine_and_mode(where):
    reference_forms.store_choice(contest(), reference(), *WHERE, now=lambda: 0.0)
    assert remembered(where) is None


def test_another_reference_of_the_same_name_is_another_contest(monkeypatch):
    reference_forms.store_choice(contest(), reference(), *WHERE, now=lambda: 0.0)
    assert remembered(against=("eager",)) is None
    other = reference()
    object.__setattr__(other.forms[0], "function", sum_of_three)
    assert reference_forms.load_choice(other, *WHERE, now=lambda: 0.0) is None


def test_another_compiler_invalidates_the_stored_choice(tmp_path, monkeypatch):
    reference_forms.store_choice(contest(), reference(), *WHERE, now=lambda: 0.0)
    newer = tmp_path / "g++"
    newer.write_text("")
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert remembered() is None
    newer.unlink()
    assert remembered() is None
    monkeypatch.undo()
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    assert remembered() is not None


def test_an_untraceable_reference_is_not_stored():
    def broken(x, times):
        raise RuntimeError("no such operation")

    reference_forms.store_choice(contest(), reference(fast=broken), *WHERE, now=lambda: 0.0)
    assert remembered(fast=broken) is None
