"""Conditions of sizes in `// limits:` lines: how they are read, and who checks them."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.checking.check import check
from metalbench.errors import DeclarationError, DispatchError
from metalbench.kernel import header
from metalbench.kernel.prepare import compile_kernel
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

SOURCE = """\
// dispatch: copy  threads_in_grid=(cols)  threads=(TG)
// scratch: room float32 (cols * cols * 1048576)
// tune: TG = 32, 64
// limits: cols <= 4 * TG, cols % 2 == 0
kernel void copy(device const float* x, device float* y, device float* room,
                 uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
"""
STANDALONE = """\
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// limits: n <= 99
// dispatch: copy  threads_in_grid=(n)  threads=(32)
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
"""


@task(
    sizes=dict(seed=dict(cols=128)),
    inputs=dict(x=normal("cols")),
    outputs=dict(y=output("cols")),
    oracle=lambda x: x,
    flops="cols",
)
def copied(x):
    return x


def limits(line):
    return header.parse(line + SOURCE, name="copied").limits


def bind(size, source=SOURCE, **tunables):
    device = _core.open("cpu")
    compiled = compile_kernel(
        device, header.parse(source, name="copied"), copied, tunables=tunables
    )
    return compiled.bind(workload(copied, size, dtype_name="float32", seed=0))


def test_conditions_of_a_line_are_read_in_order():
    found = limits("// limits: rows * cols <= 8192, n == 2 * m\n")
    assert [str(each) for each in found][:2] == ["rows * cols <= 8192", "n == 2 * m"]
    assert [each.line for each in found] == [1, 1, 5, 5]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("// limits: cols\n", "expected an operator, '<=' or '==', got the end of the line"),
        ("// limits: cols < 4\n", "expected an operator, '<=' or '==', got '<'"),
        ("// limits: cols <= 4,\n", "write `// limits: cols <= 8192, cols % 32 == 0`"),
        ("// limit: cols <= 4\n", "did you mean 'limits'"),
    ],
)
def test_other_forms_are_refused(line, message):
    with pytest.raises(DeclarationError, match=message.replace("(", r"\(")):
        limits(line)


def test_prose_that_resembles_a_limit_is_no_header_line():
    assert len(limits("// limit: at most four columns\n")) == 2


def test_a_violation_names_the_condition_and_the_values():
    one, other = limits("// limits: rows * cols <= 8, rows <= 3\n")[:2]
    assert one.find_violation({"rows": 2, "cols": 4}) == ""
    assert one.find_violation({"rows": 3, "cols": 4}) == (
        "expected rows * cols <= 8, got 12 (cols = 4, rows = 3)"
    )
    assert other.find_violation({"rows": 4}) == "expected rows <= 3, got rows = 4"


def test_a_launch_beyond_a_limit_is_refused_before_memory_is_allocated():
    message = r"copied.metal:4: expected cols <= 4 \* TG, got TG = 32, cols = 130"
    with pytest.raises(DispatchError, match=message):
        bind("cols=130")
    with pytest.raises(DispatchError, match="expected cols % 2 == 0, got 1"):
        bind("cols=127")
    without_scratch = SOURCE.replace("* 1048576", "")
    assert bind("cols=128", without_scratch).geometry
    assert bind("cols=130", without_scratch, TG=64).geometry


def test_an_unknown_name_is_an_error_of_the_header():
    with pytest.raises(DeclarationError, match=r"copied.metal:4: limit 'rows': unknown name"):
        bind("cols=64", SOURCE.replace("cols % 2", "rows"))


def test_check_of_a_file_refuses_it(tmp_path):
    path = tmp_path / "copy.metal"
    path.write_text(STANDALONE)
    with pytest.raises(DispatchError, match="expected n <= 99, got n = 100"):
        check(path)
    path.write_text(STANDALONE.replace("n <= 99", "n <= 100"))
    assert not check(path).found
