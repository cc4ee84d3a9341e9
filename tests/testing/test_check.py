"""One call for a test: what it takes, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

import metalbench
from metalbench import _core
from metalbench.errors import DeclarationError, DispatchError, Unsupported
from metalbench.testing.launch import Build
from metalbench.verify import Kind

PROLOGUE = "#include <metal_stdlib>\nusing namespace metal;\n"
SCALE = (
    PROLOGUE
    + """kernel void scale(device const float* x, device float* y, constant float& by,
                  uint i [[thread_position_in_grid]]) {
  y[i] = by * x[i];
}
"""
)
X = np.linspace(-1, 1, 100)
GRID = {"grid": 100, "threadgroup": 32}


def one(statement: str, parameters: str = "device const float* x, device float* y") -> str:
    return (
        f"{PROLOGUE}kernel void one({parameters}, uint i [[thread_position_in_grid]]) {{\n"
        f"  {statement}\n}}\n"
    )


def finding(*arguments, **options):
    found = metalbench.check_kernel(*arguments, **{**GRID, **options})
    assert not found.passed
    (first,) = found.findings
    return first


@pytest.mark.parametrize("expected", [{"y": 3 * X}, 3 * X, [3 * X], (3 * X,), lambda x: 3 * x])
def test_expected_is_named_or_in_order_or_a_function(expected):
    found = metalbench.check_kernel(SCALE, {"x": X, "by": 3.0}, expected, **GRID)
    assert found.passed, found
    assert str(found) == "scale: correct"
    np.testing.assert_array_equal(found.outputs["y"], np.float32(3) * X.astype(np.float32))


def test_headers_are_found_next_to_a_path(tmp_path):
    (tmp_path / "twice.h").write_text("#define TWICE(x) (2 * (x))\n")
    path = tmp_path / "twice.metal"
    path.write_text('#include "twice.h"\n' + one("y[i] = TWICE(x[i]);"))
    for given in (path, str(path)):
        assert metalbench.check_kernel(given, {"x": X}, lambda x: 2 * x, **GRID).passed


def test_a_function_of_numpys_takes_the_arrays():
    assert metalbench.check_kernel(one("y[i] = exp(x[i]);"), {"x": X}, np.exp, **GRID).passed


def test_several_outputs_threadgroups_macros_and_constants():
    source = (
        PROLOGUE
        + """constant int more [[function_constant(0)]];
kernel void first(device int* a) { a[0] = 1; }
kernel void both(device const int* x, device int* a, device int* b,
                 uint i [[thread_position_in_grid]]) {
  a[i] = x[i] + SHIFT;
  b[i] = x[i] * more;
}
"""
    )
    found = metalbench.check_kernel(
        source,
        {"x": np.arange(64)},
        lambda x: (x + 5, 7 * x),
        threadgroups=2,
        threadgroup=32,
        function="both",
        macros={"SHIFT": 5},
        constants={"more": 7},
    )
    assert found.passed, found
    assert found.outputs["b"].dtype == np.int32


def test_an_argument_that_is_input_and_output_is_changed_in_place():
    source = one("x[i] += 1;", "device float* x")
    assert metalbench.check_kernel(source, {"x": X}, {"x": X + 1}, **GRID).passed
    assert finding(source, {"x": X}, {"x": X}).kind is Kind.WRONG_RESULT


@pytest.mark.parametrize(("type_", "name"), [("half", "float16"), ("bfloat", "bfloat16")])
def test_inputs_have_the_declared_type_for_kernel_and_reference(type_, name):
    source = one("y[i] = 2 * x[i];", f"device const {type_}* x, device {type_}* y")
    found = metalbench.check_kernel(source, {"x": X}, lambda x: 2 * x, **GRID)
    assert found.passed, found
    assert found.outputs["y"].dtype.name == name


def test_float16_overflow_is_infinite():
    source = one("y[i] = 4 * x[i];", "device const half* x, device half* y")
    x = np.full(100, 30000, np.float16)
    assert metalbench.check_kernel(source, {"x": x}, lambda x: 4 * x, **GRID).passed


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("y[i] = x[i + 1];", Kind.OUT_OF_BOUNDS, "<source>:4: read of 4 bytes past the end of `x`"),
        ("y[0] = x[i];", Kind.RACE, "write of 4 bytes of `y` at byte 0 by thread ("),
        ("y[i] = y[i] + x[i];", Kind.UNINITIALISED, "`y` that nothing has written"),
        ("if (i < 50) y[i] = x[i];", Kind.NOT_WRITTEN, "got nothing; 50 of 100"),
        ("y[i] = 2 * x[i];", Kind.WRONG_RESULT, "every element is 2 times what it should be"),
        ("y[i] = z[i];", Kind.COMPILE_ERROR, "undeclared identifier 'z'"),
        ("while (true) y[i] = x[i];", Kind.TIME_LIMIT, "time limit of 0.3 s"),
    ],
)
def test_wrong_kernels_have_a_finding_with_a_message(statement, kind, words):
    found = finding(one(statement), {"x": X}, lambda x: x, time_limit=0.3)
    assert found.kind is kind
    assert words in found.message


def test_an_assertion_shows_the_line_buffer_and_thread():
    with pytest.raises(AssertionError) as caught:
        metalbench.assert_kernel(one("y[i] = x[i + 1];"), {"x": X}, lambda x: x, **GRID)
    text = str(caught.value)
    assert text.startswith("one: not correct\n  OUT_OF_BOUNDS: [one] <source>:4: ")
    assert "by thread (3, 0, 0) of threadgroup (3, 0, 0)" in text
    assert text.endswith("        4 | y[i] = x[i + 1];")


def test_a_plain_build_finds_guard_zone_and_input_errors():
    source = one("y[i + 100] = x[i];")
    found = finding(source, {"x": X}, {"y": X}, checked=False)
    assert found.kind is Kind.GUARD_ZONE
    source = one("x[i] = 0; y[i] = 1;", "device float* x, device float* y")
    found = finding(source, {"x": X}, {"y": np.ones(100)}, checked=False)
    assert found.kind is Kind.INPUT_CHANGED


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (("no/such.metal", {}, {}), {}, DeclarationError, "no/such.metal: expected MSL source"),
        ((SCALE, {"x": X, "bye": 2}, {"y": X}), {}, DispatchError, "did you mean 'by'?"),
        ((SCALE, {"x": X}, {"y": X}), {}, DispatchError, "argument 'by' (float): expected it"),
        ((SCALE, {"x": X, "by": 1}, {"z": X}), {}, DeclarationError, "the kernel writes no 'z'"),
        ((SCALE, {"x": X, "by": 1}, (X, X)), {}, DeclarationError, "output (y), got 2"),
        (
            (SCALE, {"x": np.ones(100, np.float16), "by": 1}, {"y": X}),
            {},
            DispatchError,
            "inputs: x: expected float32 (float), got float16",
        ),
        ((SCALE, {"x": X, "by": 1}, {"y": X}), {"threadgroups": 4}, DispatchError, "got both"),
        ((SCALE, {"x": X, "by": 1}, {"y": X}), {"grid": None}, DispatchError, "got neither"),
        (
            (SCALE, {"x": X, "by": 1}, {"y": X}),
            {"threadgroup": None},
            DeclarationError,
            "expected threadgroup=",
        ),
        ((np.exp, {"x": X}, np.exp), {}, DeclarationError, "grid: expected none"),
    ],
)
def test_errors_of_the_test_itself_are_raised(arguments, options, error, words):
    with pytest.raises(error) as caught:
        metalbench.check_kernel(*arguments, **{**GRID, **options})
    assert words in str(caught.value)


def test_out_of_range_integers_are_refused():
    source = one("y[i] = x[i];", "device const uchar* x, device uchar* y")
    x = np.arange(100)
    assert metalbench.check_kernel(source, {"x": x}, {"y": x}, **GRID).passed
    with pytest.raises(DispatchError, match="expected integers that fit uchar, got int64"):
        metalbench.check_kernel(source, {"x": 3 * x}, {"y": x}, **GRID)


class Gpu:
    """The cpu device as one that makes no checked builds; counts what it compiles and runs."""

    checked_builds = False

    def __init__(self):
        self.cpu = _core.open("cpu")
        self.compiled, self.runs = [], 0

    def __getattr__(self, name):
        return getattr(self.cpu, name)

    def compile(self, *arguments, checked, **options):
        assert not checked
        self.compiled.append(arguments)
        return self.cpu.compile(*arguments, checked=checked, **options)

    def run(self, *arguments, **options):
        self.runs += 1
        return self.cpu.run(*arguments, **options)


@pytest.fixture
def gpu(monkeypatch):
    device, cpu = Gpu(), _core.open("cpu")
    monkeypatch.setattr(
        "metalbench.testing.assertion._core.open", lambda kind: cpu if kind == "cpu" else device
    )
    return device


def test_on_a_gpu_the_checked_build_is_the_cpus_and_results_are_the_gpus(gpu):
    assert metalbench.check_kernel(one("y[i] = x[i];"), {"x": X}, lambda x: x, **GRID).passed
    assert gpu.runs == 1
    assert finding(one("y[i] = 2 * x[i];"), {"x": X}, lambda x: x).kind is Kind.WRONG_RESULT
    assert gpu.runs == 1  # for the cpu's results are wrong already
    assert metalbench.check_kernel(
        one("y[i] = x[i];"), {"x": X}, {"y": X}, checked=False, **GRID
    ).passed
    assert gpu.runs == 2


def test_a_kernel_without_a_checked_build_is_noted_and_runs_in_a_plain_build(gpu, monkeypatch):
    def unsupported(*_, **options):
        if options["checked"]:
            raise Unsupported("no such texture here")
        return plain(*_, **options)

    plain = Build.pipeline
    monkeypatch.setattr(Build, "pipeline", unsupported)
    found = metalbench.check_kernel(one("y[i] = x[i];"), {"x": X}, lambda x: x, **GRID)
    assert found.passed
    assert found.skipped == ("no such texture here",)
    assert str(found).endswith("not checked: no such texture here")
