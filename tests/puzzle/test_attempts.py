"""Messages for attempts that are not right."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.errors import DeclarationError, MetalBenchError
from metalbench.puzzle.attempt import check, compile_advice
from metalbench.puzzle.puzzle import filled, find
from metalbench.report.puzzle import attempt_json, attempt_text, drawing

PYTHON = '''
import mlx.core as mx

SOURCE = """
  uint i = thread_position_in_grid.x;
  BODY
"""


def solve(x, n):
    kernel = mx.fast.metal_kernel(
        name="mine", input_names=["x", "n"], output_names=["y"], source=SOURCE
    )
    return kernel(
        inputs=[x, n],
        grid=(-(-n // 64) * 64, 1, 1),
        threadgroup=(64, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
'''


def attempt(which, body):
    return check(which, filled(find(which), body))


def test_a_wrong_element_is_reported_and_drawn():
    found = attempt("zip", "  y[i] = i == 5 ? 7.0f : abs(a[i] - b[i]);")
    assert not found.solved
    assert found.wrong.bad.nonzero()[0].tolist() == [5]
    told = attempt_text(found)
    assert "right     no, at size n=64" in told
    expected = np.format_float_positional(found.wrong.expected[5], 7, fractional=False, trim="-")
    assert f"[5]: expected {expected}, got 7" in told
    assert "." * 5 + "x" + "." * 58 in told
    assert found.scores == ()


def test_unwritten_elements_are_reported():
    told = attempt_text(attempt(3, "  if (i + 1 < n) y[i] = clamp(x[i], -1.0f, 1.0f);"))
    assert "[127]: expected" in told
    assert "got nothing" in told
    assert "output-not-written: 1 of 128 elements" in told


def test_right_by_luck_is_not_solved():
    found = attempt("guard", "  y[i] = clamp(x[i], -1.0f, 1.0f);")
    assert found.wrong is None
    assert not found.clean
    assert not found.solved
    assert {each.kind for each in found.findings[-1].found} == {"out-of-bounds"}
    assert found.findings[-1].sizes == ("n=100",)
    told = attempt_text(found)
    assert "There are more threads than elements" in told
    assert "right by luck" in told


def test_a_missing_barrier_is_a_race(solution):
    puzzle = find("prefix_sum")
    text = solution(puzzle).read_text()
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    found = check(puzzle, text.replace(barrier, "", 1))
    assert {each.kind for each in found.findings[-1].found} == {"race"}
    assert "stands no barrier" in attempt_text(found)


def test_more_accesses_than_needed_are_solved_but_not_at_the_target():
    found = attempt(1, "  y[i] = x[i] * (1 - x[i]);")
    assert found.solved
    assert not found.at_target
    assert found.score.counts["device_reads"] == 2
    assert "device reads                                  2       1  too many" in attempt_text(
        found
    )
    assert attempt_json(found)["scores"][0]["target"]["device_reads"] == 1


def test_matrix_product_without_tiles_reads_as_often_as_said_by_hand():
    body = """  if (at.y < m && at.x < n) {
    float sum = 0;
    for (uint i = 0; i < k; ++i) sum += a[at.y * k + i] * b[i * n + at.x];
    c[at.y * n + at.x] = sum;
  }"""
    found = attempt("matmul", body)
    assert found.solved
    assert [each.counts["device_reads"] for each in found.scores] == [2 * 32, 2 * 13, 2 * 50]
    assert not found.at_target


def test_a_compile_error_is_reported_with_advice():
    found = attempt(1, "  y[i] = 2 * z[i];")
    assert "undeclared identifier 'z'" in found.error
    assert "A name that nothing declares" in attempt_text(found)
    assert not found.solved


def test_an_endless_loop_is_reported():
    puzzle = find(1)
    text = filled(puzzle, "  y[i] = x[i];\n  while (y[i] > -1) { y[i] = x[i]; }")
    found = check(puzzle, text, time_limit=0.5)
    assert found.wrong is not None
    assert not found.solved
    assert "time limit" in attempt_text(found)


def test_the_launch_is_part_of_the_puzzle():
    text = filled(find("grid_stride"), "  y[first] = x[first];")
    with pytest.raises(DeclarationError, match=r"expected 96 threads .* got 64 threads"):
        check("grid_stride", text.replace("threadgroups=(3)", "threadgroups=(2)"))


def test_errors_in_python_have_the_lines_of_the_file(tmp_path):
    file = tmp_path / "guard.py"
    file.write_text(PYTHON.replace("BODY", "y[i] = clamp(x[i], -1.0f, 1.0f);"))
    found = check("guard", file)
    assert found.wrong is None
    lines = {each.frame.line for each in found.findings[-1].found}
    assert lines == {1 + PYTHON[: PYTHON.index("BODY")].count("\n")}
    assert all(each.frame.file == str(file) for each in found.findings[-1].found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def solve", "def answer", r"expected a function solve\(\), got none"),
        ("(x, n)", "(x, z)", r"expected some of \(x, n\), got 'z'"),
        ("-(-n // 64) * 64", "64", "expected 128 threads"),
        ("    return kernel(", "    kernel(", "expected an array or a number, got NoneType"),
        ("x.shape]", "(3,)]", r"expected solve to return shape \(128,\), got \(3,\)"),
        ("inputs=[x, n]", "inputs=[x, 1 / 0]", "line 15: ZeroDivisionError"),
        ("import mlx", "import mlx,", "line 2: SyntaxError"),
        ("    return kernel(", "    return x\n    kernel(", "got no launch"),
    ],
)
def test_errors_of_python_files(tmp_path, old, new, message):
    file = tmp_path / "guard.py"
    assert old in PYTHON
    text = PYTHON.replace("BODY", "if (i < n) y[i] = x[i];").replace(old, new)
    file.write_text(text)
    with pytest.raises(MetalBenchError, match=message):
        check("guard", file)


def test_two_launches_are_refused(tmp_path):
    file = tmp_path / "guard.py"
    body = PYTHON.replace("BODY", "if (i < n) y[i] = x[i];")
    file.write_text(body.replace("def solve", "def once") + "\n\ndef solve(x, n):\n"
                    "    once(x, n)\n    return once(x, n)\n")  # fmt: skip
    with pytest.raises(DeclarationError, match="got a second one"):
        check("guard", file)


@pytest.mark.parametrize("which", [0, 15, "gard"])
def test_find_raises_for_unknown_puzzles(which):
    with pytest.raises(DeclarationError, match=r"expected 1 to 14|did you mean 'guard'"):
        find(which)


def test_drawings():
    bad = np.zeros(100, bool)
    bad[[0, 70]] = True
    unwritten = np.zeros(100, bool)
    unwritten[70] = True
    first, second, _ = drawing(bad, unwritten)
    assert first == "x" + "." * 63
    assert second == "." * 6 + "-" + "." * 57
    wide = np.zeros((64, 128), bool)
    wide[63, 127] = True
    rows = drawing(wide, np.zeros_like(wide))
    assert len(rows) == 17
    assert rows[15] == "." * 63 + "x"
    assert "4 x 2 elements" in rows[-1]


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("a.metal:3:9: error: expected ';' after expression", "semicolon"),
        ("a.metal:3:9: error: call to 'min' is ambiguous", "one type"),
        ("a.metal:3:9: error: no matching function for call to 'max'", "one type"),
        ("a.metal:3:9: warning: unused\na.metal:4:1: error: expected '}'", "braces"),
        ("a.metal:3:9: error: an unexpected message", ""),
    ],
)
def test_advice_on_messages_of_the_compiler(message, advice):
    assert advice in compile_advice(message)
    assert bool(compile_advice(message)) == bool(advice)
