"""Errors name what is wrong, with the line of the user's source."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import MetalBenchError, metal_kernel
from metalbench.errors import (
    CompileError,
    DeclarationError,
    DispatchError,
    KernelFault,
    TimeLimitExceeded,
    Unsupported,
)

X = np.arange(20, dtype=np.float32)
GOOD = {
    "inputs": [X],
    "grid": (20, 1, 1),
    "threadgroup": (64, 1, 1),
    "output_shapes": [(20,)],
    "output_dtypes": [np.float32],
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "my-kernel"}, "[my-kernel] name: expected letters, digits and _"),
        ({"name": ""}, "[metal_kernel] name: expected letters"),
        ({"input_names": "x"}, "[f] input_names: expected a list of names, got 'x'"),
        ({"input_names": ["x", "2y"]}, "[f] input_names: expected names as MSL has them, got '2y'"),
        ({"output_names": []}, "[f] output_names: expected at least one, got none"),
        ({"output_names": ["x"]}, "[f] 'x' names two inputs or outputs; rename one"),
        ({"source": None}, "[f] source: expected text, got NoneType"),
        ({"header": b""}, "[f] header: expected text, got bytes"),
        ({"compile_options": {"math": 1}}, "[f] compile_options: unknown option 'math'; did you"),
        ({"compile_options": {"math_mode": "saf"}}, "[f] math_mode: 'saf' is none; did you mean"),
        ({"device": "gpu"}, "[f] unknown device 'gpu'; did you mean 'cpu'?"),
        ({"device": "mlx", "checked": True}, "[f] checked: MLX has no checked builds"),
    ],
)
def test_definitions(changed, message):
    good = {"name": "f", "input_names": ["x"], "output_names": ["y"], "source": "y[0] = x[0];"}
    with pytest.raises(DeclarationError) as caught:
        metal_kernel(**good | changed)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"inputs": []}, "[f] inputs: expected 1 (x), got 0"),
        ({"inputs": X}, "[f] inputs: expected a list, got ndarray"),
        ({"inputs": [[1, 2]]}, "[f] inputs: x: expected an array or a number, got list"),
        ({"inputs": ["1"]}, "[f] inputs: x: expected an array or a number, got str"),
        ({"inputs": [2**63]}, "[f] inputs: x: 9223372036854775808 does not fit 64 bits"),
        ({"inputs": [np.array(["a"])]}, "[f] inputs: x: expected one of bool, int8"),
        ({"output_shapes": [(20,), (3,)]}, "[f] output_shapes: expected 1 (y), got 2"),
        ({"output_shapes": [20]}, "[f] output_shapes: y: expected sizes such as (4, 16), got 20"),
        ({"output_shapes": [(-1, 2)]}, "[f] output_shapes: y: expected sizes such as (4, 16)"),
        ({"output_dtypes": []}, "[f] output_dtypes: expected 1 (y), got 0"),
        ({"output_dtypes": [np.float64]}, "[f] output_dtypes: y: Metal has no float64; use"),
        ({"output_dtypes": [mx.float64]}, "[f] output_dtypes: y: Metal has no float64; use"),
        ({"output_dtypes": [None]}, "[f] output_dtypes: y: expected one of bool, int8"),
        ({"output_dtypes": ["flaot"]}, "[f] output_dtypes: y: expected one of bool, int8"),
        ({"grid": 20}, "[f] grid: expected three integers of at least 0, got 20"),
        ({"grid": (20, 1)}, "[f] grid: expected three integers of at least 0, got (20, 1)"),
        ({"grid": (20, -1, 1)}, "[f] grid: expected three integers of at least 0, got (20, -1, 1)"),
        ({"threadgroup": (0, 1, 1)}, "[f] threadgroup: expected three integers of at least 1"),
        ({"threadgroup": (2.5, 1, 1)}, "[f] threadgroup: expected three integers of at least 1"),
        (
            {"grid": (2000, 1, 1), "threadgroup": (1025, 1, 1)},
            "[f] threads: expected 1 to 1024 threads a threadgroup, got 1025",
        ),
        ({"init_value": "0"}, "[f] init_value: expected a number or None, got '0'"),
        ({"template": ["T"]}, "[f] template: expected pairs such as ('T', mx.float32), got 'T'"),
        ({"template": [("T", "float")]}, "[f] template: T: expected a dtype, an int or a bool"),
        ({"template": [("T", 1.0)]}, "[f] template: T: expected a dtype, an int or a bool"),
        ({"template": [("T", 2**31)]}, "[f] template: T: 2147483648 does not fit an int"),
        ({"template": [("T", np.float64)]}, "[f] template: T: Metal has no float64; use float32"),
        ({"template": [("a b", 1)]}, "[f] template: expected a name as MSL has them, got 'a b'"),
        ({"template": [("T", 1), ("T", 2)]}, "[f] template: 'T' is given twice"),
    ],
)
def test_calls(changed, message):
    kernel = metal_kernel("f", ["x"], ["y"], "y[thread_position_in_grid.x] = 0;")
    with pytest.raises(DispatchError) as caught:
        kernel(**GOOD | changed)
    assert str(caught.value).startswith(message)


def fail(kind, source, header="", options=None, **defining):
    kernel = metal_kernel("f", ["x"], ["y"], source, header, **defining)
    with pytest.raises(kind) as caught:
        kernel(**GOOD | (options or {}))
    assert isinstance(caught.value, MetalBenchError)
    return str(caught.value)


def test_a_wrong_line_of_the_source():
    message = fail(CompileError, "\n  uint i = thread_position_in_grid.x;\n  y[i] = 2 * gone;\n")
    assert message.startswith("<f source>:3:14: error: use of undeclared identifier 'gone'\n")
    assert "    3 |   y[i] = 2 * gone;\n      |              ^~~~" in message


def test_a_wrong_line_of_the_header():
    message = fail(CompileError, "y[0] = g(1);", "\nfloat g(float x) {\n  return x + ;\n}")
    assert message.startswith("<f header>:3:14: error: expected expression\n    3 |   return x + ;")


def test_a_wrong_line_in_a_template():
    message = fail(
        CompileError, "T t = x[0];\ny[0] = t.nothing;", options={"template": [("T", mx.float32)]}
    )
    assert message.startswith("<f source>:2:9: error: member reference base type 'float'")


def test_inputs_are_constant():
    message = fail(CompileError, "x[0] = 1;")
    assert message.startswith("<f source>:1:6: error: read-only variable is not assignable")


def test_an_error_may_point_into_the_signature():
    message = fail(CompileError, "float x = 1;")
    assert message.startswith("<f source>:1:7: error: redefinition of 'x'")
    assert (
        "<f signature>:2:23: note: previous definition is here\n    2 |   const device" in message
    )


@pytest.mark.parametrize("source", ["if (true) {", "}"])
def test_unbalanced_brackets_are_reported(source):
    assert "<end of f>:1:1: error:" in fail(CompileError, source)


def test_directives_of_the_preprocessor():
    assert fail(CompileError, "\n#error no\n").startswith("<f source>:2:2: error: no")
    assert "<f source>:1:2: error: unterminated" in fail(CompileError, "#if 1")


def test_an_access_out_of_bounds():
    source = "\n  uint i = thread_position_in_grid.x;\n  y[i] = x[i + 1];\n"
    message = fail(KernelFault, source, checked=True)
    assert message.startswith("[f] <f source>:3: read of 4 bytes past the end of `x`: at byte 80")
    message = fail(KernelFault, "\ny[20] = x[0];", checked=True)
    assert message.startswith("[f] <f source>:2: write of 4 bytes past the end of `y`")


def test_checked_builds_report_an_access_beyond_the_strides():
    source = "y[0] = x[elem_to_loc(7, x_shape, x_strides, x_ndim) + 1];"
    options = {"inputs": [X.reshape(4, 5)[:, :2]]}
    message = fail(KernelFault, source, options=options, checked=True, ensure_row_contiguous=False)
    assert "past the end of `x`: at byte 68 of 68" in message


def test_a_race():
    source = """
        threadgroup float shared[64];
        uint i = thread_index_in_threadgroup;
        shared[i] = x[i % 20];
        y[i % 20] = shared[63 - i];
    """
    options = {"grid": (64, 1, 1)}
    message = fail(KernelFault, source, options=options, checked=True)
    assert message.startswith("[f] <f source>:5: ")


def test_unwritten_outputs_are_nan_in_checked_builds():
    kernel = metal_kernel("f", ["x"], ["y"], "y[1] = 1;", checked=True)
    (y,) = kernel(**GOOD)
    assert np.isnan(y).sum() == 19


def test_a_hang_ends_at_the_time_limit():
    message = fail(TimeLimitExceeded, "while (true) {}", time_limit=0.2)
    assert "[f] <f source>:1: still running" in message
    assert "METALBENCH_CHECKED=1 (or checked=True) tells the first access" in message


def test_a_fault_of_a_plain_build_names_the_checked_one():
    far = "y[thread_position_in_grid.x + (1ul << 40)] = 1;"
    assert "METALBENCH_CHECKED=1" in fail(KernelFault, far)
    assert "METALBENCH_CHECKED=1" not in fail(KernelFault, far, checked=True)


def test_mlx_needs_a_mac():
    if mx.metal.is_available():
        pytest.fail("this machine has Metal: the test belongs to one without")
    with pytest.raises(Unsupported, match=r"\[f\] device 'mlx': MLX runs Metal kernels on a Mac"):
        metal_kernel("f", ["x"], ["y"], "y[0] = x[0];", device="mlx")


def call(x):
    kernel = metal_kernel("f", ["x"], ["y"], "uint i = thread_position_in_grid.x; y[i] = x[i];")
    return kernel(**GOOD | {"inputs": [x], "output_shapes": [x.shape], "output_dtypes": [x.dtype]})


@pytest.mark.parametrize("transform", [mx.compile, mx.vmap])
def test_arrays_without_a_value(transform):
    with pytest.raises(Unsupported) as caught:
        transform(lambda x: call(x)[0])(mx.array(X))
    message = str(caught.value)
    assert message.startswith("[f] inputs: x: has no value yet")
    assert "metalbench.patch_mlx()" in message
    assert "MLX_DISABLE_COMPILE=1" in message


def test_a_gradient_is_not_silently_zero():
    x = mx.array(X)
    with pytest.raises(Unsupported, match=r"\[f\] a kernel has no gradient"):
        mx.grad(lambda x: call(x)[0].sum())(x)
    with pytest.raises(Unsupported, match=r"\[f\] a kernel has no gradient"):
        mx.jvp(lambda x: call(x)[0], [x], [x])
