"""Bindings of a dispatch, `f(x = a1, n = 2 * cols)`, and named sizes, `// let:`."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from metal_double.compiler import compiler

from agent_steel.source import source_key
from agent_steel.tuning.fusion import FusedDispatches
from metalbench import _core
from metalbench.checking.check import CheckedRun, CheckSubject
from metalbench.checking.performance import lint_kernel
from metalbench.errors import DeclarationError, DispatchError, Unsupported
from metalbench.kernel.export import export_kernel
from metalbench.kernel.header import parse
from metalbench.kernel.host_code import (
    plan_host_code,
    write_mlx_code,
    write_objc_code,
    write_swift_code,
)
from metalbench.kernel.host_limits import write_out_limits
from metalbench.kernel.prepare import compile_kernel
from metalbench.mlx import patch_mlx
from metalbench.profiling.prediction import measure_kernel
from metalbench.profiling.profiler import read_profile
from metalbench.reference.evaluate import to_mlx, to_numpy
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

INCLUDE = Path(__file__).parents[1] / "metal_double" / "include"


@task(
    sizes=dict(small=dict(rows=5, cols=7), seed=dict(rows=3, cols=33)),
    inputs=dict(x=normal("rows", "cols"), w=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(factor=0.5),
    oracle=lambda x, w, factor: 2 * (factor * (factor * x + w) + x) + x,
    flops="6 * rows * cols",
)
def thrice(x, w, factor):
    return 2 * (factor * (factor * x + w) + x) + x


SOURCE = """\
// let: count = rows * cols
// let: blocks = ceil_div(count, TG)
// dispatch: join(a = x, b = w, to = first, length = rows * cols) threadgroups=(blocks) threads=(TG)
// dispatch: join(a = first, b = x, to = second, length = count)  threadgroups=(blocks) threads=(TG)
// dispatch: double_it(length = 2 * rows * cols - count)  threadgroups=(blocks) threads=(TG)
// scratch: first float32 (count)
// scratch: second float32 (rows, cols)
// limits: count <= 4096, blocks <= TG
// tune: TG = 32, 64
#include <metal_stdlib>
using namespace metal;

[[kernel]] void join(device const float* a, device const float* b, device float* to,
                 constant float& factor, constant uint& length,
                 uint i [[thread_position_in_grid]]) {
  if (i < length) to[i] = factor * a[i] + b[i];
}

[[kernel]] void double_it(device const float* second, device const float* x, device float* y,
                      constant uint& length, constant uint& count,
                      uint i [[thread_position_in_grid]]) {
  if (i < length && i < count) y[i] = 2.0f * second[i] + x[i];
}
"""


@pytest.fixture(scope="module")
def device():
    return _core.open("cpu")


def kernel_of(source=SOURCE):
    return parse(source, name="thrice")


@pytest.mark.parametrize("size", ["small", "seed"])
@pytest.mark.parametrize("build", [{}, {"checked": True}, {"counted": True}])
def test_bind_gives_each_dispatch_its_arrays_and_numbers(device, size, build):
    compiled = compile_kernel(device, kernel_of(), thrice, **build)
    assert list(compiled.pipelines) == ["join", "double_it"]
    work = workload(thrice, size)
    bound = compiled.bind(work)
    bound.poison()
    device.run(bound.dispatches)
    np.testing.assert_allclose(bound.read("y"), work.expected["y"], rtol=1e-5, atol=1e-6)
    count = work.values["rows"] * work.values["cols"]
    assert bound.geometry[0].arguments == {"a": "x", "b": "w", "to": "first", "length": count}


def test_a_checked_run_finds_nothing_and_names_the_argument_of_an_unwritten_output(device):
    def findings(source):
        kernel = kernel_of(source)
        built = compile_kernel(device, kernel, thrice, checked=True)
        subject = CheckSubject(kernel, thrice, ("small",))
        return CheckedRun(subject, built, "small", 0).findings(60.0)

    assert findings(SOURCE) == []
    shorter = SOURCE.replace("device float* y", "device float* last").replace("y[i] =", "last[i] =")
    shorter = shorter.replace(
        "(length = 2 * rows * cols - count)", "(last = y, length = count - 1)"
    )
    (found,) = findings(shorter)
    assert (found.kind, found.kernel) == ("output-not-written", "double_it")
    assert shorter.splitlines()[found.frames[0].line - 1].endswith("device float* last,")


def test_profiles_name_the_arrays_of_each_dispatch(device):
    compiled = compile_kernel(device, kernel_of(), thrice, counted=True)
    bound = compiled.bind(workload(thrice, "small"))
    device.run(bound.dispatches)
    profile = read_profile(compiled, bound)
    assert [each.function for each in profile.dispatches] == ["join", "join", "double_it"]
    assert profile.buffers[:2] == (
        ("x", "w", "first", "factor", "35"),
        ("first", "x", "second", "factor", "35"),
    )


def test_the_gpu_model_and_the_lints_take_bound_numbers():
    works = measure_kernel(kernel_of(), thrice, "small", dtype_name="float32")
    assert [each.function for each in works] == ["join", "join", "double_it"]
    # The same sizes on other arrays are the same work.
    assert works[0] is works[1]
    lints = lint_kernel(kernel_of(), thrice, "small", dtype_name="float32")
    assert {each.kind for each in lints.found} == {"few-threadgroups"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(a = x, b", "(c = x, b", r":3: join: no array or number is called 'c' among its argum"),
        ("a = first,", "a = frst,", r":4: join: a: .*got frst; did you mean 'first'"),
        ("a = first,", "a = 2 * rows,", r"a: expected an input, output or scratch, .*float in dev"),
        ("length = count)", "length = counts)", "'counts' is not an input.*did you mean 'count'"),
        ("length = count)", "length = 2 * x)", "length: expected the name of an array alone"),
        ("length = count)", "length = factor)", "length: expected `constant float& length` for"),
        ("length = count)", "length = x)", r"x: expected float32 \(float\), got uint in kernel"),
        ("length = count)", "factor = 3)", "factor: expected an integer such as"),
        ("to = second,", "to = x,", "different arrays for b and to, .* writes to; got x for both"),
        ("a = x, b = w", "a = x, b = x", "w: no dispatched kernel of thrice.metal takes this"),
        ("a = x, b = w", "a = x, a = w", "expected an argument that the line does not bind"),
        ("join(a = x", "join(", "expected the name of an argument, got '=|got ','"),
        ("(a = x, b", "(a: x, b", "expected '=', got ':'"),
        ("let: blocks", "let: factor", ":2: 'factor' is called like an input, output, size or"),
        ("let: blocks", "let: count", "2:9: expected a name that the header does not have yet"),
        ("scratch: first", "scratch: count", "scratch 'count' is declared twice"),
        (
            "// let: count = rows * cols\n// let: blocks = ceil_div(count, TG)\n",
            "// let: blocks = ceil_div(count, TG)\n// let: count = rows * cols\n",
            ":1: 'count' is used above its line `// let: count`, line 2",
        ),
        ("// let: blocks", "// lett: blocks", "unknown header line `// lett:`; did you mean 'let'"),
        ("let: count = rows", "let: count = rows / (cols - 7)", ":1: count: .*division by zero"),
        ("count <= 4096", "count <= 4", r"expected count <= 4, got count = 35"),
        ("length = count)", "length = count - 40)", "length: expected 0 to 4294967295 for uint"),
    ],
)
def test_wrong_bindings_and_named_sizes_are_refused(device, old, new, message):
    assert old in SOURCE
    with pytest.raises((DeclarationError, DispatchError), match=message):
        compile_kernel(device, kernel_of(SOURCE.replace(old, new, 1)), thrice).bind(
            workload(thrice, "small")
        )


def test_arguments_that_are_only_read_may_have_one_array(device):
    source = SOURCE.replace("b = x, to = second", "b = first, to = second")
    work = workload(thrice, "small")
    bound = compile_kernel(device, kernel_of(source), thrice).bind(work)
    device.run(bound.dispatches)
    x, w = (work.inputs[name].astype(np.float64) for name in "xw")
    np.testing.assert_allclose(bound.read("y"), 2 * 1.5 * (0.5 * x + w) + x, rtol=1e-5, atol=1e-6)


def exported(source=SOURCE):
    return plan_host_code(export_kernel(kernel_of(source)), thrice)


def test_the_exported_file_is_the_same_kernel(device):
    text = export_kernel(kernel_of()).text
    assert "// let: blocks = ceil_div(count, 32)" in text
    work = workload(thrice, "seed")
    results = []
    for kernel in (kernel_of(), kernel_of(text)):
        bound = compile_kernel(device, kernel, thrice).bind(work)
        device.run(bound.dispatches)
        results.append(bound.read("y").copy())
    np.testing.assert_array_equal(*results)


def test_the_code_for_mlx_binds_arguments():
    space: dict[str, object] = {}
    work = workload(thrice, "seed")
    undo = patch_mlx(device="cpu")
    try:
        exec(write_mlx_code(exported()), space)
        with mx.stream(mx.cpu):
            got = to_numpy(space["thrice"](*map(to_mlx, work.inputs.values())))
        with pytest.raises(ValueError, match=r"expected \(rows \* cols\) <= 4096, got rows = 200"):
            space["thrice"](mx.zeros((200, 200)), mx.zeros((200, 200)))
    finally:
        undo()
    np.testing.assert_allclose(got, work.expected["y"], rtol=1e-5, atol=1e-6)


def test_the_code_for_mlx_refuses_scratch_that_is_written_twice():
    source = SOURCE.replace("join(a = first, b = x, to = second", "join(a = w, b = x, to = first")
    source = source.replace("double_it(l", "double_it(second = first, l").replace(
        "// scratch: second float32 (rows, cols)\n", ""
    )
    with pytest.raises(Unsupported, match="join would continue first"):
        write_mlx_code(exported(source))


def test_the_objective_cpp_and_the_swift_code_bind_arguments(tmp_path):
    text = write_objc_code(exported())
    file = tmp_path / "thrice.mm"
    file.write_text(text)
    flags = ["-fsyntax-only", "-x", "objective-c++", "-std=c++20", "-fobjc-arc", "-fblocks"]
    flags += ["-fobjc-runtime=macosx-14.0", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    flags += ["-Wno-unused-parameter", "-Wno-nullability-completeness", "-Wno-unused-function"]
    answer = subprocess.run(
        [*compiler(), *flags, str(file)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert "const NSUInteger blocks = ceil_div(count, 32);" in text
    assert text.count("setBuffer:first ") == 2
    assert "uint32_t(2 * rows * cols - count)" in text
    swift = write_swift_code(exported())
    assert "    let count = rows * cols\n    let blocks = ceil_div(count, 32)\n" in swift
    assert swift.count("encoder.setBuffer(first, ") == 2
    assert "UInt32(rows * cols)" in swift


def test_limits_with_very_long_named_sizes_are_refused():
    lines = "".join(f"// let: n{i} = n{i - 1} + n{i - 1}\n" for i in range(1, 30))
    source = SOURCE.replace("count <= 4096", "n29 <= 1")
    source = f"// let: n0 = rows\n{lines}{source}"
    with pytest.raises(Unsupported, match="with its named sizes written out"):
        write_out_limits(kernel_of(source))


def test_keys_of_texts_tell_bindings_and_named_sizes():
    kernel = kernel_of()
    keys = [
        source_key(kernel, {}),
        source_key(kernel_of(SOURCE.replace("a = x, b = w", "a = w, b = x")), {}),
        source_key(kernel_of(SOURCE.replace("ceil_div(count, TG)", "1 + count / TG")), {}),
    ]
    assert len(set(keys)) == 3
    assert source_key(replace(kernel), {}) == keys[0]


def test_dispatches_with_bindings_are_not_fused():
    assert list(FusedDispatches().versions(kernel_of())) == []
