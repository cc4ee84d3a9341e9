"""Findings of a check: location, thread, count, and the comments that allow one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import metalbench
from metalbench.checking.check import check
from metalbench.checking.findings import (
    CheckFinding,
    Findings,
    Frame,
    read_header_suppressions,
)
from metalbench.errors import CompileError, DeclarationError

HEAD = """\
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;
"""
SIGNATURE = (
    "kernel void k(device const float* x, device float* y, constant uint& n, "
    "uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])"
)

CLEARED = "threadgroup float s[32]; s[t] = 0; threadgroup_barrier(mem_flags::mem_threadgroup);"


def file(folder: Path, body: str, *, before: str = "", head: str = HEAD) -> Path:
    path = folder / "k.metal"
    path.write_text(f"{head}{before}{SIGNATURE} {{\n{body}\n}}\n")
    return path


def line_of(path: Path, text: str) -> int:
    lines = path.read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def found_in(path: Path, **options: object) -> Findings:
    return check(path, **options)


def test_check_reports_line_and_thread_of_a_finding(tmp_path):
    path = file(tmp_path, "  y[i] = x[i + 2];")
    (finding,) = found_in(path).found
    assert finding.kind == "out-of-bounds"
    assert finding.severity == "error"
    assert (finding.frame.file, finding.frame.line) == (str(path), line_of(path, "x[i + 2]"))
    assert finding.frame.column == 10
    assert finding.kernel == "k"
    assert finding.details.buffer == "x"
    assert finding.element == 100
    assert finding.details.thread == (2, 0, 0)
    assert finding.details.threadgroup == (3, 0, 0)


@pytest.mark.slow
def test_check_counts_repeats_and_reports_the_first_thread(tmp_path):
    path = file(tmp_path, "  y[i] = x[i + 50];")
    (finding,) = found_in(path).found
    assert finding.count == 50
    assert finding.element == 100
    assert finding.details.threadgroup == (1, 0, 0)


def test_check_continues_after_a_finding(tmp_path):
    body = "  float v = x[i + 1];\n  v += x[int(i) - 1];\n  y[i + 1] = v;\n  y[i] = v;"
    found = found_in(file(tmp_path, body)).found
    lines = [each.frame.line for each in found if each.kind == "out-of-bounds"]
    assert [each - lines[0] for each in lines] == [0, 1, 2]


def test_private_arrays_of_an_ended_thread_do_not_affect_the_next_one(tmp_path):
    body = """\
  float own[4] = {x[i], 1, 2, 3};
  thread float* p = own;
  { float inner[4] = {1, 2, 3, x[i]}; if (x[i] < 0) p[0] += inner[t % 4]; }
  device const float* q = t == 3 && i < 32 ? (device const float*)nullptr : x;
  y[i] = p[t % 4] + q[i];"""
    found = found_in(file(tmp_path, body)).found
    assert [each.kind for each in found] == ["wild-pointer"]


def test_check_ends_only_the_thread_that_cannot_continue(tmp_path):
    """Its neighbours get past the barrier, and write what they have to."""
    body = """\
  threadgroup float s[32];
  device const float* p = i == 3 ? (device const float*)nullptr : x;
  s[t] = p[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = s[0];
  y[i + 1] = s[0];"""
    kinds = [each.kind for each in found_in(file(tmp_path, body)).found]
    assert "wild-pointer" in kinds
    assert "out-of-bounds" in kinds
    assert "barrier" not in kinds


def test_check_reports_both_threads_of_a_race(tmp_path):
    body = f"  {CLEARED}\n  s[t] = x[i];\n  y[i] = s[31 - t];"
    head = HEAD.replace("n = 100", "n = 128")
    path = file(tmp_path, body, head=head)
    found = found_in(path).found
    assert {each.kind for each in found} == {"race"}
    (finding,) = [each for each in found if each.frame.line == line_of(path, "s[31 - t]")]
    assert "of 4 bytes at byte 124 by thread (0, 0, 0)" in finding.message
    assert "after a write by thread (31, 0, 0)" in finding.message
    assert finding.details.thread == (0, 0, 0)


def test_check_reports_the_call_stack_of_a_finding(tmp_path):
    before = """\
static float inner(device const float* p, uint k) {
  return p[k + 1];
}
static float outer(device const float* p, uint k) {
  return 2 * inner(p, k);
}
"""
    path = file(tmp_path, "  y[i] = outer(x, i);", before=before)
    (finding,) = found_in(path).found
    lines = [line_of(path, text) for text in ("p[k + 1]", "inner(p, k);", "outer(x, i)")]
    assert [each.line for each in finding.frames] == lines
    assert [each.function for each in finding.frames][:2] == ["inner", "outer"]


@pytest.mark.slow
def test_check_reports_calls_that_were_not_inlined(tmp_path):
    before = """\
static float down(device const float* p, uint k, uint left) {
  if (left == 0) return p[k + 1];
  return 2 * down(p, k, left - 1);
}
"""
    path = file(tmp_path, "  y[i] = down(x, i, n / 25);", before=before)
    (finding,) = found_in(path).found
    lines = [each.line for each in finding.frames]
    assert lines[0] == line_of(path, "p[k + 1]")
    assert lines[1:5] == [line_of(path, "left - 1")] * 4
    assert lines[-1] == line_of(path, "n / 25")


@pytest.mark.slow
def test_check_runs_the_requested_tools_only(tmp_path):
    body = f"  {CLEARED}\n  s[t] = x[i];\n  y[i] = s[31 - t] + x[i + 1];"
    path = file(tmp_path, body, head=HEAD.replace("n = 100", "n = 128"))
    assert {each.kind for each in found_in(path).found} == {"race", "out-of-bounds"}
    assert {each.kind for each in found_in(path, tools="race").found} == {"race"}
    assert {each.kind for each in found_in(path, tools=["mem,init"]).found} == {"out-of-bounds"}
    with pytest.raises(DeclarationError, match="unknown tool 'rase'; did you mean 'race'"):
        found_in(path, tools="rase")


@pytest.mark.slow
def test_check_succeeds_with_warnings_only(tmp_path):
    findings = found_in(file(tmp_path, "  y[i] = x[i];\n  y[0] = 1;\n  y[0] = 1;"))
    assert [each.severity for each in findings.warnings]
    clean = found_in(file(tmp_path, "  y[i] = 1;\n  y[0] = 1;"))
    assert {each.kind for each in clean.found} == {"same-value-race"}
    assert clean.passed


@pytest.mark.slow
def test_inputs_of_a_file_are_given_as_arrays(tmp_path):
    path = file(tmp_path, "  y[i] = x[uint(x[i])];")
    np.savez(tmp_path / "fit.npz", x=np.full(100, 99, np.float32))
    np.savez(tmp_path / "unfit.npz", x=np.full(100, 100, np.float32))
    assert found_in(path, buffers=tmp_path / "fit.npz").found == ()
    (finding,) = found_in(path, buffers=tmp_path / "unfit.npz").found
    assert finding.count == 100


@pytest.mark.slow
def test_check_accepts_writes_to_an_inout_buffer(tmp_path):
    body = "  y[i] = x[i];\n  x[i] = 0;"
    path = file(tmp_path, body)
    path.write_text(path.read_text().replace("device const float* x", "device float* x"))
    (finding,) = found_in(path).found
    assert finding.kind == "write-to-input"
    assert finding.count == 100
    assert finding.frame.line == line_of(path, "x[i] = 0")
    path.write_text(path.read_text().replace("normal", "normal inout"))
    assert found_in(path).found == ()


def test_check_ignores_findings_that_a_comment_allows(tmp_path):
    body = "  y[i] = x[i + 1];  // check: allow out-of-bounds the buffer is padded"
    findings = found_in(file(tmp_path, body))
    assert findings.passed
    (allowed,) = findings.allowed
    assert allowed.allowed == "the buffer is padded"


@pytest.mark.slow
def test_check_applies_a_comment_line_to_the_next_line(tmp_path):
    body = "  // check: allow out-of-bounds the buffer is padded\n  // more\n  y[i] = x[i + 1];"
    assert len(found_in(file(tmp_path, body)).allowed) == 1


@pytest.mark.slow
def test_check_applies_a_comment_to_its_kind_only(tmp_path):
    path = file(tmp_path, "  y[i] = x[i + 1];  // check: allow race it is atomic in spirit")
    findings = found_in(path)
    assert [each.kind for each in findings.found] == ["out-of-bounds"]
    (unused,) = findings.unused
    assert unused.startswith(f"{path}:{line_of(path, 'x[i + 1]')}: allows race")


def include_header(folder: Path, line: str) -> str:
    """Write a header with a function of `line`, and return the line that includes it."""
    folder.mkdir(exist_ok=True)
    (folder / "own.h").write_text(
        f"inline float pick(device const float* x, uint i) {{\n  {line}\n}}\n"
    )
    return '#include "own.h"\n'


@pytest.mark.parametrize("is_beside", [True, False])
def test_check_applies_comments_of_headers(tmp_path, is_beside):
    folder = tmp_path if is_beside else tmp_path / "headers"
    line = "return x[i + 1];  // check: allow out-of-bounds the buffer is padded"
    before = include_header(folder, f"{line}\n  // check: allow race of another kernel")
    path = file(tmp_path, "  y[i] = pick(x, i);", before=before)
    findings = found_in(path, include_dirs=[folder])
    assert not findings.found
    assert [each.allowed for each in findings.allowed] == ["the buffer is padded"]
    assert not findings.unused


@pytest.mark.slow
def test_an_allowance_that_one_type_does_not_need_may_be_for_another(tmp_path: Path):
    lines = "// buffer: y DTYPE (64) output\n// dispatch: k threadgroups=(1) threads=(64)\n"
    body = (
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device DTYPE* y, "
        "uint i [[thread_position_in_grid]]) { y[i] = 1; }  // check: allow race of one type\n"
    )
    path = tmp_path / "k.metal"
    path.write_text(f"// dtypes: float32, float16\n{lines}{body}")
    (of_two,) = check(path).unused
    assert of_two.endswith("not found; remove it unless another type than float32 needs it")
    path.write_text(f"{lines}{body}")
    (of_one,) = check(path).unused
    assert of_one.endswith("not found; remove it")


def test_check_applies_comments_at_the_call_of_a_header_function(tmp_path):
    before = include_header(tmp_path, "return x[i + 1];")
    body = "  y[i] = pick(x, i);  // check: allow out-of-bounds the buffer is padded"
    findings = found_in(file(tmp_path, body, before=before))
    assert not findings.found
    assert len(findings.allowed) == 1


@pytest.mark.slow
def test_check_refuses_invalid_comments_of_headers(tmp_path):
    before = include_header(tmp_path, "return x[i + 1];  // check: allow out-of-bounds")
    path = file(tmp_path, "  y[i] = pick(x, i);", before=before)
    with pytest.raises(DeclarationError, match=r"own\.h:2: expected a reason"):
        found_in(path)


def test_read_header_suppressions_reads_files_of_the_folders_only(tmp_path):
    for name in ("inside", "outside"):
        include_header(tmp_path / name, "return 0;  // check: allow race a reason")
    frames = [Frame("f", str(tmp_path / name / "own.h"), 2, 1) for name in ("inside", "outside")]
    finding = CheckFinding("race", "k", "", 1, tuple(frames), "file", "float32")
    read = read_header_suppressions([finding], tmp_path / "kernels/k.metal", [tmp_path / "inside"])
    assert [Path(each.file).parent.name for each in read] == ["inside"]


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("allow out-of-bounds", "expected a reason why out-of-bounds is allowed"),
        ("allow out-of-bound padded", "unknown kind of finding 'out-of-bound'; did you mean"),
        ("ignore this", "expected `// check: allow KIND reason`"),
    ],
)
def test_a_comment_must_name_its_kind_and_a_reason(tmp_path, comment, words):
    path = file(tmp_path, f"  y[i] = x[i];  // check: {comment}")
    with pytest.raises(DeclarationError) as told:
        found_in(path)
    assert words in str(told.value)
    assert f"k.metal:{line_of(path, comment)}" in str(told.value)


@pytest.mark.slow
def test_a_kernel_of_the_library_is_checked_by_its_name():
    findings = metalbench.check("relu", sizes=["small"])
    assert isinstance(findings, Findings)
    assert findings.found == ()
    assert findings.sizes == ("small",)


@pytest.mark.slow
def test_check_reports_a_kernel_that_does_not_end(tmp_path):
    body = "  while (n != 0) {\n    y[i] += 1;\n  }"
    found = found_in(file(tmp_path, body), time_limit=1.0).found
    assert "time-limit" in {each.kind for each in found}


def test_check_raises_for_a_kernel_that_does_not_compile(tmp_path):
    with pytest.raises(CompileError, match="undeclared"):
        found_in(file(tmp_path, "  y[i] = z[i];"))


@pytest.mark.parametrize(
    ("named", "options", "words"),
    [
        ("relu", {"buffers": Path("x.npz")}, "expected a file without a task"),
        ("relu", {"sizes": ["smal"]}, "unknown size 'smal'"),
        ("rellu", {}, "unknown kernel 'rellu'; did you mean 'relu'"),
        ("nowhere.metal", {}, "cannot be read"),
    ],
)
def test_check_refuses_unknown_names_and_options(named, options, words):
    with pytest.raises(DeclarationError, match=words):
        check(named, **options)


def test_a_file_has_no_sizes(tmp_path):
    with pytest.raises(DeclarationError, match="whose own lines say how large all is"):
        check(file(tmp_path, "  y[i] = x[i];"), sizes=["small"])


@pytest.mark.parametrize(
    ("type_", "bytes_"), [("float", 2), ("int", 1), ("float2", 4), ("ushort", 1), ("half4", 2)]
)
def test_check_continues_a_thread_after_a_misaligned_access(tmp_path, type_, bytes_):
    path = file(
        tmp_path,
        f"  device const char* p = (device const char*)x + {bytes_};\n"
        f"  {type_} m = ((device const {type_}*)p)[0];\n"
        "  float u;\n  y[i] = u + float(m.MEMBER);".replace(
            ".MEMBER", ".x" if type_[-1].isdigit() else ""
        ),
    )
    kinds = [finding.kind for finding in found_in(path).found]
    assert kinds == ["misaligned", "uninitialised"]


@pytest.mark.parametrize("type_", ["float", "half"])
def test_a_race_of_matrix_stores_is_one_finding_at_the_users_line(tmp_path, type_):
    path = file(
        tmp_path,
        f"  simdgroup_matrix<{type_}, 8, 8> a(1);\n  simdgroup_store(a, (device {type_}*)y, 8);",
    )
    (finding,) = [each for each in found_in(path).found if each.kind == "same-value-race"]
    assert (finding.frame.file, finding.frame.line) == (
        str(path),
        line_of(path, "simdgroup_store"),
    )
    assert "<metalbench>" not in finding.message
