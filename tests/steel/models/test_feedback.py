"""What a prompt teaches: outcomes with their lines and diffs, the library, records of elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from steel_session import LONGER, Scripted, proposal
from work_in_vain import KERNEL, kernel_with

from agent_steel.attempt import Attempt, Status, Target
from agent_steel.history.known import find_known_versions
from agent_steel.loop.predicted import locate_on_roofline
from agent_steel.loop.profiler import Profiler, list_predictions
from agent_steel.loop.settings import SearchSubject
from agent_steel.models import feedback
from agent_steel.models.feedback import cut, describe_library, describe_outcomes, diff_sources
from agent_steel.models.library_search import list_texts, rank_texts, split_words
from agent_steel.models.prompt import prompt_values
from agent_steel.proposal import Brief, Diagnosis, Fact
from agent_steel.source import read_line
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library, find
from metalbench.profiling.prediction import find_gpu_chip, predict_kernel
from metalbench.sandbox.resources import Limits
from metalbench.stats import Interval
from metalbench.store.result import DeviceFacts

TAIL = "y[i] = v == 12345.0f ? 0.0f : 2 * x[i];"
BEYOND = KERNEL.replace(TAIL, f"{TAIL}\n  if (i == 0) y[n] = 1;").replace(
    "uint i [[", "constant uint& n, uint i [["
)
BASELINE = Attempt(1, 1, "twice", "float32", "seed", None, 0, KERNEL, "k", status=Status.BASELINE)


def attempt(number: int, source: str, **parts: Any) -> Attempt:
    given: dict[str, Any] = {"parent": 1, "status": Status.REVERTED, "technique": "an idea"}
    return replace(BASELINE, number=number, source=source, **{**given, **parts})


def brief_of(task: str, source: str, attempts: Sequence[Attempt] = (), **parts: Any) -> Brief:
    entry = find([task])[0]
    kernel = parse(source, name=task, path=Path(f"/somewhere/{task}.metal"))
    given: dict[str, Any] = {
        "task": entry.task,
        "kernel": kernel,
        "parent": replace(BASELINE, task=task, source=source),
        "diagnosis": Diagnosis("memory", "It waits for memory."),
        "device": DeviceFacts("metal", "Apple M4 Max", "m4_max", 40),
        "dtype": "float32",
        "size": "seed",
        "extents": entry.task.extents("seed"),
        "reference": "mx.softmax(x)",
        "target": Target.SPEED,
        "round": 1,
        "attempts": tuple(attempts),
        **parts,
    }
    return Brief(**given)


def outcomes(*attempts: Attempt) -> str:
    brief = brief_of("softmax", KERNEL, [BASELINE, *attempts])
    return describe_outcomes(
        replace(brief, kernel=parse(KERNEL, name="twice", path=Path("twice.metal")))
    )


# Outcomes of earlier attempts.


def test_an_outcome_has_the_message_the_named_line_and_the_diff() -> None:
    message = "at check: OUT_OF_BOUNDS: [twice] /tmp/a b/twice.metal:13: write past the end of `y`"
    said = outcomes(attempt(2, BEYOND, status=Status.WRONG, error=message, technique="a tail"))
    assert "## Number 2, wrong: a tail" in said
    assert "<message>\nat check: OUT_OF_BOUNDS:" in said
    assert "twice.metal:13: write past the end" in said
    assert BEYOND.splitlines()[12].strip() == "if (i == 0) y[n] = 1;"
    assert "* twice.metal:13 is `if (i == 0) y[n] = 1;`" in said
    assert "Its changes to number 1:" in said
    assert "\n+  if (i == 0) y[n] = 1;" in said
    assert "kernel void twice(device const float* x, device float* y, uint i" in said  # removed
    assert "fma" not in said  # not near a change


def test_the_outcome_of_a_slower_version_has_its_ratio_and_diff() -> None:
    slower = attempt(2, KERNEL.replace("k = 0", "k = 1"), ratio=Interval(0.8, 0.7, 0.9))
    said = outcomes(slower)
    assert "## Number 2, reverted: an idea" in said
    assert "0.8 times as fast as its rival." in said
    assert "+  for (uint k = 1; k < WORK; ++k) {" in said
    assert "<message>" not in said


def test_outcomes_are_of_the_last_attempts_with_changes() -> None:
    several = [
        attempt(number, KERNEL.replace("k = 0", f"k = {number}"), technique=f"idea {number}")
        for number in range(2, 12)
    ]
    said = outcomes(*several)
    heads = [line for line in said.splitlines() if line.startswith("## ")]
    assert heads == [f"## Number {number}, reverted: idea {number}" for number in (11, 10, 9, 8)]
    # Other values of tunables, comments and attempts that are not judged are not outcomes.
    assert outcomes(attempt(2, KERNEL, tunables={"WORK": 0})) == ""
    assert outcomes(attempt(2, KERNEL + "// a comment\n")) == ""
    assert outcomes(attempt(2, BEYOND, status=Status.PENDING)) == ""
    assert outcomes() == ""


def test_outcomes_are_limited_in_size() -> None:
    long = "\n".join(f"  float a{number} = {number};" for number in range(1000))
    broken = {"status": Status.BROKEN, "error": "error: x\n" * 1000}
    several = [attempt(number, f"{KERNEL}\n{long}{number}", **broken) for number in range(2, 9)]
    said = outcomes(*several)
    assert len(said) < feedback.LONGEST_OUTCOMES + 1000
    (first, *_) = said.split("## ")[1:]
    assert first.count(feedback.CUT) == 2
    assert len(first) < feedback.LONGEST_MESSAGE + feedback.LONGEST_DIFF + 500
    assert cut("a\nbb\nccc", 8) == "a\nbb\nccc"
    assert cut("a" * 100, 20) == f"{'a' * 10}\n{feedback.CUT}"


def test_diff_sources_ignores_comments_and_spacing() -> None:
    assert diff_sources("int a;\n", "int  a; // one\n") == ""
    assert (
        diff_sources("int a;\nint b;\n", "int a;\nint c;\n")
        == "@@ -1,2 +1,2 @@\n int a;\n-int b;\n+int c;"
    )


def test_read_line_is_of_the_kernel_or_of_a_header() -> None:
    kernel = parse(KERNEL, name="twice", path=Path("/somewhere/twice.metal"))
    assert read_line(kernel, "twice.metal", 7) == KERNEL.splitlines()[6].strip()
    assert "#pragma once" in [read_line(kernel, "/x/softmax.h", line) for line in range(1, 60)]
    assert read_line(kernel, "twice.metal", 99) == read_line(kernel, "twice.metal", 0) == ""
    assert read_line(kernel, "other.metal", 1) == ""
    long = replace(kernel, source="x" * 500)
    assert read_line(long, "twice.metal", 1) == f"{'x' * 160}..."


def test_the_next_prompt_has_the_finding_and_the_compiler_message_with_their_lines(
    subject: SearchSubject, session: Any
) -> None:
    misspelt = KERNEL.replace("float v = x[i]", "flaot v = x[i]")
    script = [proposal(BEYOND, "a tail"), proposal(misspelt, "a typing error"), None]
    scripted = Scripted(script)
    session(
        [subject], scripted, real=Limits(60), plan=LONGER, max_rounds=3, max_idle_rounds=3,
        candidates=1,
    )  # fmt: skip
    said = prompt_values(scripted.briefs[2])["outcomes"]
    wrong, broken = said.index("## Number 2, wrong: a tail"), said.index("## Number 3, broken")
    assert broken < wrong  # the newest first
    assert "flaot" in said[broken:wrong]
    assert "* twice.metal:8 is `flaot v = x[i];`" in said[broken:wrong]
    assert "GUARD_ZONE" in said[wrong:]
    assert "checked build: out-of-bounds at twice.metal:13: " in said[wrong:]
    assert "* twice.metal:13 is `if (i == 0) y[n] = 1;`" in said[wrong:]
    assert str(subject.entry.task_path.parent) not in said


# The library.


def test_rank_texts_has_the_texts_that_share_rare_words() -> None:
    # Not the first one: the library grows.
    found = rank_texts("softmax Softmax over the last axis.", "memory latency")
    assert "metalbench/softmax.h" in [each.name for each in found if each.is_header][:4]
    assert "cumsum" in [each.name for each in rank_texts("cumsum Cumulative sum along rows")[:6]]
    assert rank_texts("xyzzy") == []


def test_list_texts_has_the_headers_and_kernels_of_the_library() -> None:
    texts = {each.name: each for each in list_texts()}
    assert texts["softmax"].technique == "reduction of rows"
    assert texts["softmax"].comment.startswith("Row softmax")
    assert "dispatch:" not in texts["softmax"].comment
    assert texts["metalbench/tiles.h"].is_header
    assert texts.keys() >= set(Library().names("all"))
    assert not any(name.startswith("kb1_") for name in texts)


def test_split_words_splits_names_and_removes_plurals() -> None:
    assert split_words("simd_sum of the SIMD-group's rows, threadsPerGroup") == [
        *("simd", "sum", "simd", "group", "row", "thread", "per", "group")
    ]


def test_describe_library_has_headers_and_kernels_near_the_task() -> None:
    said = describe_library(brief_of("softmax", KERNEL.replace("twice", "softmax")))
    assert said.startswith("# Techniques of the library\n")
    assert "* header `metalbench/softmax.h`: Sums of exponentials" in said
    assert "* kernel `softmax`, reduction of rows: Row softmax" in said
    assert '<kernel name="softmax">\n// Row softmax' in said
    assert len(said) <= feedback.LONGEST_LIBRARY + 1000
    assert said.count("* header `") <= feedback.MOST_HEADERS
    assert said.count("* kernel `") == feedback.MOST_KERNELS


def test_describe_library_leaves_out_what_the_prompt_has_already() -> None:
    source = find(["softmax"])[0].kernel_path().read_text()
    said = describe_library(brief_of("softmax", source))
    assert "`metalbench/softmax.h`" not in said
    assert "* kernel `softmax`" not in said
    assert "* kernel `" in said


def test_slow_code_of_the_diagnosis_is_part_of_the_query() -> None:
    plain = KERNEL.replace("twice", "relu")
    slow = Fact("slow code", "bank conflicts in threadgroup memory of a transpose: pad the tile")
    diagnosis = Diagnosis("memory", "", (slow,) * 3)
    said = describe_library(brief_of("relu", plain, diagnosis=diagnosis))
    other = describe_library(brief_of("relu", plain, diagnosis=Diagnosis("memory", "")))
    assert "* kernel `transpose_2d`" in said
    assert "* kernel `transpose_2d`" not in other
    assert "* kernel `relu`" in said


# Records and best versions of other places.


def test_the_best_versions_of_other_sizes_are_in_the_prompt(
    subject: SearchSubject, session: Any
) -> None:
    faster = kernel_with(0)
    other = replace(subject, size="odd1")
    ended = session([other], Scripted([proposal(faster, "no work in vain"), None]), max_rounds=1)
    assert ended.searches[0].improved
    scripted = Scripted([None])
    session([subject], scripted, max_rounds=1)
    (known,) = scripted.briefs[0].known
    assert "Of float32, size odd1, on " in known.about
    assert "times as fast as its first version: no work in vain." in known.about
    assert known.source == faster
    said = prompt_values(scripted.briefs[0])["records"]
    assert said.startswith("# The best versions elsewhere\n")
    assert "-// tune: WORK = 400, 0, 100" not in said  # a comment
    # The same task at the same size is the history itself.
    assert find_known_versions(session.history, other.place) == ()


def test_records_of_the_leaderboard_come_first(
    subject: SearchSubject, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Entry:
        kernel_ns = Interval(2e3, 1.9e3, 2.1e3)
        ratio = Interval(1.5, 1.4, 1.6)
        tunables = MappingProxyType({"WORK": 0})

    class Record:
        place = "twice (float32, seed) on Apple M4"
        entry = Entry()
        header = "// Twice the input.\n// It adds.\n"

    monkeypatch.setattr(type(session.history), "records_of", lambda *_: [Record()] * 5)
    known = find_known_versions(session.history, subject.place)
    assert [each.about for each in known] == [
        "The record of twice (float32, seed) on Apple M4: 2.0 us [1.9, 2.1], 1.5 times as fast "
        "as MLX (with WORK = 0). Twice the input. It adds."
    ] * 2


# Diagnoses.


def test_lints_have_the_text_of_their_line(tmp_path: Path) -> None:
    source = """// Sums of columns, with a stride.
// dispatch: strided  threads_in_grid=(rows)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void strided(device const float* x, device float* y, constant uint& cols,
                    uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < cols; ++k) {
    sum += x[i * cols + k];
  }
  y[i] = sum;
}
"""
    (tmp_path / "sum_rows.metal").write_text(source)
    entry = Library([tmp_path]).entry("sum_rows")
    device = DeviceFacts("cpu", "a processor", None, 2)
    subject = SearchSubject(entry, entry.kernel(), "float32", "seed", device)
    start = replace(BASELINE, task="sum_rows", source=source)
    facts = Profiler(None).list_lints(subject, start)  # type: ignore[arg-type]
    assert any("at sum_rows.metal:10 (`sum += x[i * cols + k];`): " in each.value for each in facts)


def test_predicted_slow_lines_have_their_text_and_causes() -> None:
    (entry,) = find(["softmax"])
    chip, kernel = find_gpu_chip("m2"), entry.kernel()
    found = predict_kernel(kernel, entry.task, "small", chip)
    lines = [each.value for each in list_predictions(found, kernel) if "slow line" in each.name]
    assert lines
    for each in lines:
        place, _, causes = each.rpartition(" of the time: ")
        assert "(`" in place
        assert "/" not in place.partition(" (`")[0]
        assert causes.partition(" ")[0] in ("issue", "complex", "L2", "data", "threadgroup")
    device = DeviceFacts("cpu", "a processor", None, 2)
    subject = SearchSubject(entry, kernel, "float32", "small", device, chip)
    (fact,) = locate_on_roofline(subject, found)
    assert fact.name == "roofline"
    assert "% of the memory roof of Apple M2 at its published rates" in fact.value
