"""Arguments of kernels: those that do not fit are refused before a kernel runs."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from metalbench import _core

EVERY = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
EVERY += (np.float16, np.float32, np.float64, np.complex64, ml_dtypes.bfloat16)


@pytest.fixture
def bind(compile_kernel):
    """Bind a value to the argument `x`, declared as it is given."""

    def bind(declared: str, value: object, **others: object) -> _core.Dispatch:
        body = "struct Pair { float a; int b; };\ntypedef float real;\n"
        pipeline = compile_kernel(
            f"{body}kernel void f({declared}, device float* out) {{ out[0] = 1; }}"
        )
        arguments = {"x": value, "out": np.zeros(4, np.float32), **others}
        return _core.Dispatch(pipeline, arguments, threadgroups=1, threads=1)

    return bind


def names(*types: Any) -> set[str]:
    return {np.dtype(each).name for each in types}


@pytest.mark.parametrize(
    ("declared", "fitting"),
    [
        ("device float* x", names(np.float32)),
        ("device real* x", names(np.float32)),
        ("device const float4* x", names(np.float32, np.complex64)),
        ("device packed_float3* x", names(np.float32)),
        ("constant float4x4& x", names(np.float32, np.complex64)),
        ("device half* x", names(np.float16)),
        ("device const packed_half4* x", names(np.float16)),
        ("device bfloat* x", names(ml_dtypes.bfloat16, np.uint16)),
        ("device uint* x", names(np.int32, np.uint32)),
        ("device atomic_uint* x", names(np.int32, np.uint32)),
        ("device const short2* x", names(np.int16, np.uint16)),
        ("device const uchar* x", names(np.bool_, np.int8)),
        ("device const bool* x", names(np.bool_, np.int8)),
        ("constant ulong& x", names(np.int64, np.uint64)),
        ("device Pair* x", names(*EVERY)),
        ("device void* x", names(*EVERY)),
    ],
)
def test_element_types_are_those_of_the_declaration(bind, declared, fitting):
    for each in EVERY:
        array = np.zeros(64, each)
        # uint8 is raw bytes, whatever the kernel makes of them.
        if array.dtype.name in {*fitting, "uint8"}:
            bind(declared, array)
        else:
            with pytest.raises(_core.ArgumentTypeError, match=rf"^\[f\] x: .*{array.dtype.name}"):
                bind(declared, array)


def test_argument_errors_name_valid_types_and_conversions(bind):
    with pytest.raises(_core.ArgumentTypeError) as caught:
        bind("device float* x", np.zeros(64, np.float16))
    assert str(caught.value) == (
        "[f] x: expected float32 for device float, got float16; pass array.astype(numpy.float32), "
        "or its bytes as they are: array.view(numpy.uint8)"
    )


def test_element_types_of_a_template_are_those_of_its_instance(compile_kernel):
    pipeline = compile_kernel(
        """
        template <typename T> kernel void twice(device T* x) { x[0] += x[0]; }
        template [[host_name("f")]] kernel void twice<half>(device half* x);
        """
    )
    _core.Dispatch(pipeline, {"x": np.zeros(8, np.float16)}, threadgroups=1, threads=1)
    with pytest.raises(_core.ArgumentTypeError, match="expected float16"):
        _core.Dispatch(pipeline, {"x": np.zeros(8, np.float32)}, threadgroups=1, threads=1)


def test_a_buffer_has_the_dtype_and_shape_of_its_array(device, bind):
    halves = device.buffer(np.zeros(64, np.float16))
    for each in (halves, halves.slice(16, 64)):
        with pytest.raises(_core.ArgumentTypeError, match="expected float32 .* got float16"):
            bind("device float* x", each)
    bind("device half* x", halves)
    bind("device float* x", device.allocate(256))
    bind("device float* x", device.buffer(np.zeros(64, np.float16).view(np.uint8)))


def test_memory_holds_at_least_one_element(device, bind):
    for value in (np.zeros(3, np.float32), np.zeros(12, np.uint8), b"12 bytes...."):
        with pytest.raises(_core.DispatchError, match=r"one device float4 \(16 bytes\), got 12"):
            bind("device const float4* x", value)
    for value in (np.zeros(0, np.float32), device.allocate(64).slice(0, 4), b""):
        with pytest.raises(_core.DispatchError, match=r"at least one constant Pair \(8 bytes\)"):
            bind("constant Pair& x", value)
    # Of device memory a kernel may well look at nothing.
    bind("device const float4* x", np.zeros(0, np.float32))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(4, ">f4"), "expected this machine's byte order, got >f4"),
        (np.array([1, "a"], object), "expected numbers, got object"),
        (np.array(["a"]), "expected float32 for device float, got str32"),
        (np.zeros(4, [("a", "f4")]), "got void32"),
        (None, "got NoneType None"),
        ("abc", "got str 'abc'"),
        ([1.0, 2.0], r"got list \[1.0, 2.0\]"),
        ({}, "got dict {}"),
    ],
)
def test_arguments_that_are_not_numeric_arrays_are_refused(bind, value, message):
    with pytest.raises(_core.ArgumentTypeError, match=rf"^\[f\] x: .*{message}"):
        bind("device const float* x", value)
    if not isinstance(value, np.ndarray):
        with pytest.raises(_core.ArgumentTypeError, match=message):
            bind("constant float& x", value)


def test_buffer_refuses_objects_that_are_not_arrays(device):
    for value in ([1, 2], np.zeros(2, object), np.zeros(2, ">i4")):
        with pytest.raises(_core.ArgumentTypeError, match=r"^array: expected"):
            device.buffer(value)


INTEGERS = (7, True, np.int64(7), np.int8(7), np.uint64(7), np.bool_(True), np.array(7))


@pytest.mark.parametrize("value", INTEGERS)
@pytest.mark.parametrize("type_", ["uint", "short", "ulong", "float", "half", "bfloat"])
def test_every_integer_is_one(bind, type_, value):
    bind(f"constant {type_}& x", value)


def test_a_scalar_argument_keeps_its_value(device, compile_kernel):
    pipeline = compile_kernel(
        "kernel void f(constant short& a, constant half& b, constant bfloat& c, constant bool& d,"
        "device float* out) { out[0] = a; out[1] = b; out[2] = c; out[3] = d; }"
    )
    out = np.zeros(4, np.float32)
    values = {"a": np.int64(-5), "b": np.float64(0.5), "c": ml_dtypes.bfloat16(3), "d": np.True_}
    arguments = {**values, "out": out}
    device.run([_core.Dispatch(pipeline, arguments, threadgroups=1, threads=1)])
    assert out.tolist() == [-5, 0.5, 3, 1]


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        ("uint", -1, "expected 0 to 4294967295 for uint, got -1"),
        ("uint", np.int64(2**32), "got 4294967296"),
        ("char", 128, "expected -128 to 127 for char, got 128"),
        ("ulong", 2**64, "got 18446744073709551616"),
        ("uint", 1.0, "expected an integer for uint, got 1.0"),
        ("uint", np.float32(2), "expected an integer for uint, got 2.0"),
        ("uint", math.nan, "expected an integer for uint, got nan"),
        ("bool", 2, "expected True or False, got 2"),
        ("bool", 0.0, "expected True or False, got 0.0"),
        ("half", 70000, "expected at most 65504.0 for half, got 70000"),
        ("float", 1e39, "for float, got 1e"),
        ("float", 10**400, "for float, got 1000"),
        ("uint2", 3, "cannot turn a Python number into uint2; pass a NumPy array or bytes"),
        ("Pair", 3, "cannot turn a Python number into Pair"),
    ],
)
def test_an_out_of_range_number_is_refused(bind, type_, value, message):
    with pytest.raises(_core.DispatchError, match=rf"^\[f\] x: .*{message}"):
        bind(f"constant {type_}& x", value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_nan_and_infinity_are_valid_scalars(bind, value):
    bind("constant float& x", value)
    bind("constant half& x", value)


def test_unknown_argument_names_are_reported_before_missing_ones(bind):
    pipeline_of = {"X": np.zeros(4, np.float32)}
    with pytest.raises(
        _core.DispatchError, match="X: the kernel has no such argument; did you mean `x`"
    ):
        bind("device float* x", np.zeros(4, np.float32), **pipeline_of)
    with pytest.raises(
        _core.DispatchError, match="outt: .* did you mean `out`\\? it has `x`, `out`"
    ):
        bind("device float* x", np.zeros(4, np.float32), outt=1)
    with pytest.raises(
        _core.DispatchError, match="zebra: the kernel has no such argument; it has `x`"
    ):
        bind("device float* x", np.zeros(4, np.float32), zebra=1)


def test_integers_of_numpy_are_sizes(device, compile_kernel):
    pipeline = compile_kernel(
        "kernel void f(device float* x, threadgroup float* t) { t[0] = 1; x[0] = t[0]; }"
    )
    one, many = np.int64(1), np.array([2, 3])
    memory = {"t": np.uint16(64)}
    x = device.allocate(np.int64(64)).slice(np.int32(0), np.uint8(16))
    for grid in (one, (np.int32(2), one), many, np.array(4)):
        dispatch = _core.Dispatch(
            pipeline, {"x": x}, threadgroups=grid, threads=one, threadgroup_bytes=memory
        )
        device.run([dispatch])
    assert dispatch.threadgroups == (4, 1, 1)


@pytest.mark.parametrize("size", [1.0, "12", (1, 2.5), True, (), [None], -1, 2**32])
def test_dispatch_refuses_invalid_sizes(compile_kernel, size):
    pipeline = compile_kernel("kernel void f(device float* x) { x[0] = 1; }")
    with pytest.raises(_core.DispatchError, match="threads: expected one to three sizes"):
        _core.Dispatch(pipeline, {"x": np.zeros(4, np.float32)}, threadgroups=1, threads=size)


@pytest.mark.parametrize("nbytes", [-1, 1.5, "16"])
def test_allocate_and_slice_refuse_invalid_byte_counts(device, nbytes):
    with pytest.raises(
        _core.DispatchError, match="nbytes: expected a count of bytes of 0 to 2.63 - 1, got"
    ):
        device.allocate(nbytes)
    with pytest.raises(
        _core.DispatchError, match="nbytes: expected a count of bytes of 0 to 2.63 - 1, got"
    ):
        device.allocate(16).slice(0, nbytes)


def test_errors_of_the_user_are_builtin_errors_too(monkeypatch):
    monkeypatch.delenv("METALBENCH_DEVICES", raising=False)  # it would answer first
    assert issubclass(_core.DispatchError, ValueError)
    assert issubclass(_core.CompileError, ValueError)
    with pytest.raises(ValueError, match="expected auto, cpu, metal or cuda, got gpu"):
        _core.open("gpu")
    assert issubclass(_core.ArgumentTypeError, (TypeError, ValueError, _core.DispatchError))
    assert issubclass(_core.OutOfMemoryError, MemoryError)
    assert issubclass(_core.OutOfMemoryError, _core.MachineError)
    for error in (_core.DispatchError, _core.ArgumentTypeError, _core.OutOfMemoryError):
        assert issubclass(error, _core.Error)


def test_allocate_raises_beyond_the_memory(device):
    with pytest.raises(_core.OutOfMemoryError, match="cannot allocate"):
        device.allocate(2**62)


def test_function_constants_may_be_of_numpy(compile_kernel):
    source = (
        "constant int n [[function_constant(0)]]; constant float s [[function_constant(1)]];"
        "kernel void f(device float* x) { x[0] = n * s; }"
    )
    compile_kernel(source, constants={"n": np.int64(3), np.int32(1): np.float32(0.5)})
    for wrong in (None, "3", [None]):
        with pytest.raises(_core.ArgumentTypeError, match="constant n: expected a number"):
            compile_kernel(source, constants={"n": wrong, "s": 1.0})
