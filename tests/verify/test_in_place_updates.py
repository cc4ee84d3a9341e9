"""Verification of kernels that update an input in place."""

from __future__ import annotations

import pytest
from in_place import ADDING, COPYING, RIGHT, SKIPPING, SLOW, placed

from metalbench import _core, verify
from metalbench.checking.check import check, check_subject, resolve_subject
from metalbench.checking.findings import parse_tools
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.task.workload import workload
from metalbench.verify import Kind, VerifyPlan


def verified(source: str):
    builds = Builds(_core.open("cpu"), parse(source, name="placed"), placed)
    report = verify.verify(builds, VerifyPlan(sizes=["small", "seed"]))
    if report.passed:
        report += verify.verify_checked(builds)
    if report.passed:
        report += verify.verify_same_work(builds)
    return report


@pytest.mark.parametrize("source", [RIGHT, SLOW, COPYING])
def test_right_kernels_pass(source):
    report = verified(source)
    assert report.passed, report.findings


def test_an_update_that_is_not_idempotent_is_found():
    assert {each.kind for each in verified(ADDING).findings} == {Kind.WRONG_RESULT}
    # Right on fresh contents only: a further update multiplies again.
    again = RIGHT.replace(
        "cache[position[i]] = fresh[i]",
        "const float v = fresh[i], w = cache[position[i]]; cache[position[i]] = w == v ? 2 * v : v",
    )
    report = verified(again)
    assert {each.kind for each in report.findings} == {Kind.STALE_RESULT}
    assert "a further update must change nothing" in report.findings[0].message


def test_a_kernel_that_skips_updated_elements_is_found():
    report = verified(SKIPPING)
    assert {each.kind for each in report.findings} == {Kind.LESS_WORK}


def test_a_kernel_that_recognises_an_updated_array_by_one_element_is_found():
    guessing = RIGHT.replace("  cache[", "  if (cache[position[0]] == fresh[0]) return;\n  cache[")
    report = verified(guessing)
    assert not report.passed


def test_writes_beyond_an_updated_input_are_found():
    beyond = RIGHT.replace("  cache[", "  cache[position[i] + 4096] = cache[")
    assert {each.kind for each in verified(beyond).findings} == {Kind.GUARD_ZONE}


def test_other_inputs_must_stay():
    changing = RIGHT.replace("device const float* fresh", "device float* fresh").replace(
        "}\n", "  fresh[i] = 0;\n}\n"
    )
    changing = changing.replace("  return w;\n  fresh[i] = 0;\n", "  return w;\n")
    assert {each.kind for each in verified(changing).findings} == {Kind.INPUT_CHANGED}


def test_check_reports_nothing_for_a_cache_of_the_library():
    assert not check("kv_append").found


def test_check_reports_a_write_to_another_input():
    what = resolve_subject("kv_append")
    source = what.kernel.source.replace("device const DTYPE* fresh", "device DTYPE* fresh")
    source = source.replace("  store_quad(", "  fresh[0] = 0;\n  store_quad(")
    kernel = parse(source, name="kv_append", path=what.kernel.path)
    subject = type(what)(kernel, what.task, what.sizes, launch_size=what.launch_size)
    found = check_subject(subject, _core.open("cpu"), parse_tools(["mem"]))
    assert {each.kind for each in found.found} == {"write-to-input"}


LIBRARY = Library()
ENTRIES = map(LIBRARY.entry, LIBRARY.names("all"))
IN_PLACE = [each for each in ENTRIES if each.kernel().inouts]


@pytest.mark.parametrize("entry", IN_PLACE, ids=lambda entry: entry.name)
def test_updates_of_the_library_are_idempotent(entry):
    """The oracle of the updated arrays is the update itself."""
    task = entry.task
    assert task.inout
    work = workload(task, "small", seed=1)
    given = work.widen_inputs(float)
    once = task.oracle(**given)
    once = once if isinstance(once, tuple) else (once,)
    outputs = dict(zip(task.outputs, once, strict=True))
    updated = {name: outputs[output] for name, output in task.inout.items()}
    twice = task.oracle(**{**given, **updated})
    twice = twice if isinstance(twice, tuple) else (twice,)
    for before, after in zip(once, twice, strict=True):
        assert (before == after).all()
