"""Lints: each planted slow place is found at its line, and its twin has no finding."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from checking.performance_cases import CASES, HEAD, INCLUDES, SIGNATURE, PlantedCase

from metalbench import _core
from metalbench.checking.check import check
from metalbench.checking.findings import KINDS, PERFORMANCE, parse_tools
from metalbench.checking.performance import find_precise_lines, lint_kernel
from metalbench.errors import CompileError, DeclarationError
from metalbench.kernel.standalone import read_standalone_kernel
from metalbench.msl import engine
from metalbench.msl.ir.text import IrError
from metalbench.report.findings import findings_json, findings_text, to_sarif

Places = tuple[tuple[str, int], ...]


@cache
def lint(case: PlantedCase, folder: Path, *, planted: bool) -> Places:
    """Return the rules and lines of the findings in a case's kernel."""
    path = folder / "f.metal"
    path.write_text(case.source(planted=planted))
    findings = check(path, tools=PERFORMANCE)
    assert not findings.skipped
    return tuple((each.kind, each.frame.line) for each in findings.found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("lints")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}, {case.name}")
def test_lint_finds_the_slow_place_and_nothing_in_the_twin(case, folder):
    assert lint(case, folder, planted=True) == ((case.rule, case.line),)
    assert lint(case, folder, planted=False) == ()


@pytest.mark.slow
def test_lints_have_high_precision_and_recall(folder):
    found = right = 0
    for case in CASES:
        planted = lint(case, folder, planted=True)
        right += (case.rule, case.line) in planted
        found += len(planted) + len(lint(case, folder, planted=False))
    recall, precision = right / len(CASES), right / found
    print(f"{len(CASES)} planted: recall {recall:.0%}, precision {precision:.0%}")
    assert recall >= 0.95
    assert precision >= 0.95


def test_every_lint_has_at_least_five_planted_pairs():
    rules = [each.rule for each in CASES]
    for kind in KINDS.values():
        if kind.tool == PERFORMANCE:
            assert rules.count(kind.name) >= 5, kind.name
            assert kind.is_warning
            assert kind.advice


def write(folder: Path, body: str, *, head: str = HEAD, before: str = "") -> Path:
    path = folder / "f.metal"
    path.write_text(f"{head}{INCLUDES}{before}{SIGNATURE}\n{{\n{body}\n}}\n")
    return path


ARRAY = "float a[16];\nfor (uint j = 0; j < 16; ++j) a[j] = x[i + j];\ny[i] = a[uint(x[0]) & 15u];"


def test_parse_tools_takes_performance_only_by_name():
    assert PERFORMANCE not in parse_tools(["all"])
    assert parse_tools(["performance"]) == ("performance",)
    assert parse_tools(["race,performance"]) == ("race", "performance")
    assert parse_tools(["all", "performance"])[-1] == "performance"
    with pytest.raises(DeclarationError, match="did you mean 'performance'"):
        parse_tools(["performanc"])


def test_performance_does_not_run_the_kernel(tmp_path):
    path = write(tmp_path, "while (n) y[i + 100000] = 1;")
    findings = check(path, tools="performance", time_limit=0.01)
    assert findings.passed
    assert {each.kind for each in findings.found} <= {"wide-address"}


def test_performance_reports_figures_advice_and_formats(tmp_path):
    path = write(tmp_path, ARRAY)
    findings = check(path, tools="performance")
    (found,) = findings.found
    assert found.severity == "warning"
    assert findings.passed
    assert "`a` stays in thread memory: 64 B per thread" in found.message
    assert f"its index in line {found.frame.line + 2} is not a constant" in found.message
    assert "unroll(full)" in findings_text(findings)
    (plain,) = json.loads(findings_json([findings], are_several=False))["findings"]
    assert (plain["kind"], plain["tool"]) == ("thread-array", "performance")
    (run,) = json.loads(to_sarif([findings], tmp_path))["runs"]
    assert run["results"][0]["ruleId"] == "thread-array"
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == (
        found.frame.line
    )


def test_performance_findings_are_allowed_by_comments(tmp_path):
    comment = "float a[16];  // check: allow thread-array a table by design"
    path = write(tmp_path, ARRAY.replace("float a[16];", comment))
    findings = check(path, tools="performance")
    assert not findings.found
    assert [each.allowed for each in findings.allowed] == ["a table by design"]
    # The other tools do not need the comment, and do not call it unused.
    assert not check(path, tools="arithmetic").unused


def test_comments_are_found_in_a_file_below_the_current_folder(tmp_path, monkeypatch):
    """Clang names such a file relative to the folder."""
    comment = "float a[16];  // check: allow thread-array a table by design"
    path = write(tmp_path, ARRAY.replace("float a[16];", comment))
    monkeypatch.chdir(tmp_path.parent)
    findings = check(path, tools="performance")
    assert len(findings.allowed) == 1
    assert not findings.unused


def test_a_comment_above_a_dispatch_allows_its_findings(tmp_path):
    dispatch = "// dispatch: f threads_in_grid=(64) threads=(64)"
    head = HEAD.replace("// dispatch: f threads_in_grid=(n) threads=(64)", dispatch)
    assert dispatch in head
    path = write(tmp_path, "y[i] = x[i];", head=head)
    assert [each.kind for each in check(path, tools="performance").found] == ["few-threadgroups"]
    allowed = f"// check: allow few-threadgroups one sum\n{dispatch}"
    path = write(tmp_path, "y[i] = x[i];", head=head.replace(dispatch, allowed))
    findings = check(path, tools="performance")
    assert not findings.found
    assert [each.allowed for each in findings.allowed] == ["one sum"]
    assert not findings.unused


def test_performance_and_other_tools_report_together(tmp_path):
    path = write(tmp_path, f"{ARRAY}\ny[i + 1] = 1;")
    kinds = {each.kind for each in check(path, tools="mem,performance").found}
    assert {"thread-array", "out-of-bounds"} <= kinds


def test_performance_finds_places_in_included_files(tmp_path):
    (tmp_path / "own.h").write_text(
        "inline float pick(device const float* x, uint i) {\n"
        "  float own[8];\n  for (uint j = 0; j < 8; ++j) own[j] = x[j];\n"
        "  return own[i & 7];\n}\n"
    )
    path = write(tmp_path, "y[i] = pick(x, i);", before='#include "own.h"\n')
    (found,) = check(path, tools="performance").found
    assert (Path(found.frame.file).name, found.frame.line) == ("own.h", 2)
    assert "`own` stays in thread memory: 32 B" in found.message


def test_performance_applies_comments_of_headers(tmp_path):
    (tmp_path / "own.h").write_text(
        "inline float pick(device const float* x, uint i) {\n"
        "  // check: allow thread-array a table by design\n  float own[8];\n"
        "  for (uint j = 0; j < 8; ++j) own[j] = x[j];\n  return own[i & 7];\n}\n"
    )
    path = write(tmp_path, "y[i] = pick(x, i);", before='#include "own.h"\n')
    findings = check(path, tools="performance")
    assert not findings.found
    assert [each.allowed for each in findings.allowed] == ["a table by design"]


def test_performance_reports_threadgroup_memory_of_a_dispatch(tmp_path):
    head = HEAD.replace("threads=(64)", "threads=(64) threadgroup_bytes=(s: 20000)")
    signature = SIGNATURE.replace("uint i [[", "threadgroup float* s [[threadgroup(0)]], uint i [[")
    path = tmp_path / "f.metal"
    body = "s[t] = x[i]; y[i] = s[t];"
    path.write_text(f"{head}{INCLUDES}{signature} {{ {body} }}\n")
    (found,) = check(path, tools="performance").found
    assert (found.kind, found.frame.line) == ("threadgroup-memory", 5)
    assert "20000 B are of this dispatch" in found.message


def test_performance_raises_errors_of_the_compiler(tmp_path):
    with pytest.raises(CompileError, match=r"f\.metal:11"):
        check(write(tmp_path, "\nwrong;"), tools="performance")
    head = HEAD.replace("dispatch: f", "dispatch: g")
    with pytest.raises((CompileError, DeclarationError), match="g"):
        check(write(tmp_path, "y[i] = 1;", head=head), tools="performance")


def test_mathematical_functions_do_not_count_as_their_instructions_on_a_processor(tmp_path):
    body = "y[i] = precise::sin(x[i]) + tanh(x[i]) + pow(x[i], x[i + 1]);"
    bare = read_standalone_kernel(write(tmp_path, body), None)
    lints = lint_kernel(bare.kernel, bare.task, bare.size, dtype_name="float32")
    assert lints.reports["f"].instructions < 40
    assert lints.reports["f"].registers < 10


def test_minima_of_arguments_are_in_uniform_registers(tmp_path):
    def registers_of(rows: str) -> int:
        body = f"""
        float sums[8] = {{}};
        for (uint q = i; q < n; q += 1024) {{
          for (uint j = 0; j < 8; ++j) sums[j] += x[q + {rows} * n];
        }}
        y[i] = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
        """
        bare = read_standalone_kernel(write(tmp_path, body), None)
        lints = lint_kernel(bare.kernel, bare.task, bare.size, dtype_name="float32")
        return lints.reports["f"].registers

    assert registers_of("min(j, k)") <= registers_of("(j * k)")


def test_elements_that_nothing_reads_are_not_in_registers(tmp_path):
    # LLVM's code for a processor computes both elements of a vector for each of them.
    unrolled = "#pragma clang loop unroll(full)"
    body = f"""
    float4 v[16];
    {unrolled}
    for (uint j = 0; j < 16; ++j) {{
      v[j] = j * i < n ? float4(((device const packed_float4*)x)[i + j]) : float4(0);
    }}
    {unrolled}
    for (uint j = 0; j < 4; ++j) {{
      float4 a = v[4 * j], b = v[4 * j + 1], c = v[4 * j + 2], d = v[4 * j + 3];
      v[4 * j] = a - c;
      v[4 * j + 1] = b + c;
      v[4 * j + 2] = c - b;
      v[4 * j + 3] = b - d;
    }}
    {unrolled}
    for (uint j = 0; j < 4; ++j) {{
      float4 a = v[j], b = v[j + 4], c = v[j + 8], d = v[j + 12];
      v[j] = a - c;
      v[j + 4] = b + c;
      v[j + 8] = c - b;
      v[j + 12] = b - d;
    }}
    {unrolled}
    for (uint j = 0; j < 16; ++j) ((device packed_float4*)y)[i + j] = packed_float4(v[j]);
    """
    bare = read_standalone_kernel(write(tmp_path, body), None)
    lints = lint_kernel(bare.kernel, bare.task, bare.size, dtype_name="float32")
    assert 64 <= lints.reports["f"].registers < 80


def test_halves_of_a_word_are_in_the_registers_of_the_word(tmp_path):
    unrolled = "#pragma clang loop unroll(full)"
    body = f"""
    half2 both[16];
    {unrolled}
    for (uint j = 0; j < 16; ++j) both[j] = as_type<half2>(as_type<uint>(x[i + j]) & 0x3FF03FF);
    float s = 0;
    {unrolled}
    for (uint j = 0; j < 16; ++j) s = fma(s, s, float(both[j].x));
    {unrolled}
    for (uint j = 0; j < 16; ++j) s = fma(s, s, float(both[j].y));
    y[i] = s;
    """
    bare = read_standalone_kernel(write(tmp_path, body), None)
    lints = lint_kernel(bare.kernel, bare.task, bare.size, dtype_name="float32")
    assert 16 <= lints.reports["f"].registers < 24


def test_products_of_matrices_keep_accumulators_in_registers(tmp_path):
    body = """
    simdgroup_float8x8 sums[4];
    for (uint j = 0; j < 4; ++j) sums[j] = simdgroup_float8x8(0);
    for (uint q = 0; q < k; ++q) {
      simdgroup_float8x8 a;
      simdgroup_load(a, x + 64 * q, 8);
      for (uint j = 0; j < 4; ++j) {
        simdgroup_float8x8 b;
        simdgroup_load(b, x + 64 * j, 8);
        simdgroup_multiply_accumulate(sums[j], a, b, sums[j]);
      }
    }
    for (uint j = 0; j < 4; ++j) simdgroup_store(sums[j], y + 64 * j, 8);
    """
    assert not check(write(tmp_path, body), tools="performance").found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("simdgroup_multiply_accumulate(c, a, b, c);", 1),
        ("simdgroup_load(a, x + 64 * {}, 8); simdgroup_multiply_accumulate(c, a, b, c);", 3),
        (
            "simdgroup_load(a, x + 64 * {}, 8, ulong2(0), true); "
            "simdgroup_multiply_accumulate(c, a, b, c);",
            5,
        ),
        ("simdgroup_store(c, y + 64 * {}, 8);", 1),
        ("simdgroup_store(c, y + 64 * {}, 8, ulong2(0), true);", 2),
    ],
)
def test_matrices_count_as_their_instructions_on_a_gpu(tmp_path, statement, expected):
    def instructions_of(repeats: int) -> int:
        body = f"""
        simdgroup_float8x8 a, b, c(0);
        simdgroup_load(a, x, 8);
        simdgroup_load(b, x + 64, 8);
        {"".join(statement.format(at + 2) for at in range(repeats))}
        simdgroup_store(c, y, 8);
        """
        bare = read_standalone_kernel(write(tmp_path, body), None)
        lints = lint_kernel(bare.kernel, bare.task, bare.size, dtype_name="float32")
        return lints.reports["f"].instructions

    assert instructions_of(9) - instructions_of(1) == 8 * expected


def test_find_precise_lines_reads_macros_where_they_are_used():
    text = "#define S precise::sin\nvoid f() {\n  S(1.0f);\n  precise::cos(1.0f);\n}\n"
    source = engine.parse(f"#include <metal_stdlib>\nusing namespace metal;\n{text}", "m.metal")
    assert find_precise_lines(source.source) == {("m.metal", 5), ("m.metal", 6)}


def test_guards_of_the_last_elements_are_not_reported(tmp_path):
    body = """
    if (4 * i + 4 <= n) {
      ((device float4*)y)[i] = ((device const float4*)x)[i];
    } else {
      for (uint j = 4 * i; j < n; ++j) y[j] = x[j];
    }
    """
    assert _core.open("cpu").checked_builds
    assert not check(write(tmp_path, body), tools="performance").found


def test_performance_reports_why_rules_were_skipped(tmp_path, monkeypatch):
    path = write(tmp_path, "while (true) y[i] += x[i];")
    (skipped,) = check(path, tools="performance").skipped
    assert "a loop that nothing ever leaves" in skipped

    def fail(*arguments: object, **options: object) -> None:
        raise IrError("unknown instruction")

    monkeypatch.setattr("metalbench.checking.performance.compile_for_analysis", fail)
    (skipped,) = check(path, tools="performance").skipped
    assert "unknown instruction" in skipped
