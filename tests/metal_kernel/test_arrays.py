"""Arrays of every type, layout and kind go in, and come out as they were."""

from __future__ import annotations

import ml_dtypes
import mlx.core as mx
import numpy as np
import pytest

from metalbench.mlx.definition import TYPES

COPY = "uint i = thread_position_in_grid.x; out[i] = a[i];"
STRIDED = """
    uint i = thread_position_in_grid.x;
    out[i] = a[elem_to_loc(i, a_shape, a_strides, a_ndim)];
"""


def samples(name):
    """Ten values that tell the type from others of its size."""
    if name == "bool":
        return np.arange(10) % 3 == 0
    if name == "complex64":
        return (np.arange(10) - 4.5 + 1j * np.arange(10)).astype(name)
    if "int" in name:
        info = np.iinfo(name)
        step = (info.max - info.min) // 9
        return np.array([info.min + n * step for n in range(10)], name)
    return (np.arange(10) / 3 - 1).astype(TYPES[name].numpy)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_numpy(run, name):
    a = samples(name)
    (out,) = run(COPY, [a], [(10,)], [a.dtype], grid=10)
    assert type(out) is np.ndarray
    assert out.dtype == a.dtype
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_mlx(run, name):
    dtype = mx.bool_ if name == "bool" else getattr(mx, name)
    with mx.stream(mx.cpu):
        a = mx.array(samples(name).astype("float32" if name == "bfloat16" else name)).astype(dtype)
    (out,) = run(COPY, [a], [(10,)], [dtype], grid=10)
    assert isinstance(out, mx.array)
    assert out.dtype == dtype
    assert mx.array_equal(out, a, stream=mx.cpu)


def test_types_convert_within_the_kernel(run):
    a = np.array([-1.5, 0.25, 3], np.float32)
    names = ["float16", "bfloat16", "int64", "bool", "complex64"]
    stores = [f"out{n + 1}[i] = static_cast<{TYPES[x].msl}>(a[i]);" for n, x in enumerate(names)]
    source = "uint i = thread_position_in_grid.x; " + " ".join(stores)
    outputs = run(source, [a], [(3,)] * len(names), names, grid=3)
    for name, out in zip(names, outputs, strict=True):
        np.testing.assert_array_equal(out, a.astype(TYPES[name].numpy))


@pytest.mark.parametrize("wide", ["float64", "complex128"])
def test_dtypes_that_metal_lacks_are_narrowed_as_by_mlx(run, wide):
    a = np.array([0.1, 0.2], wide)
    narrow = str(mx.array(a).dtype).rpartition(".")[2]
    (out,) = run(COPY, [a], [(2,)], [narrow], grid=2)
    assert out.dtype.itemsize == a.dtype.itemsize // 2
    np.testing.assert_array_equal(out, a.astype(narrow))


def test_the_other_byte_order(run):
    (out,) = run(COPY, [np.array([1, 2], ">i4")], [(2,)], ["int32"], grid=2)
    assert out.tolist() == [1, 2]


def base():
    return np.arange(4 * 6 * 5, dtype=np.int32).reshape(4, 6, 5)


LAYOUTS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "every other": lambda a: a[::2, 1::2, ::3],
    "offset": lambda a: a[1:, 2:4],
    "one plane": lambda a: a[:, 3],
    "swapped": lambda a: a.swapaxes(0, 1),
    "backwards": lambda a: a[::-1, :, ::-2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [np.array, mx.array])
@pytest.mark.parametrize(("source", "contiguous"), [(COPY, True), (STRIDED, False)])
@pytest.mark.parametrize("checked", [False, True])
def test_layouts(run, layout, kind, source, contiguous, checked):
    expected = LAYOUTS[layout](base())
    a = LAYOUTS[layout](kind(base()))
    options = {"ensure_row_contiguous": contiguous, "checked": checked}
    (out,) = run(source, [a], [expected.shape], ["int32"], grid=expected.size, **options)
    assert type(out) is type(a)
    np.testing.assert_array_equal(np.array(out), expected)


def test_broadcast_arrays_are_not_copied_out(run):
    a = np.broadcast_to(np.arange(5, dtype=np.int32), (3, 4, 5))
    source = STRIDED + "if (i == 0) { out[0] = a_strides[0] + 10 * a_strides[2]; }"
    (out,) = run(source, [a], [a.shape], ["int32"], grid=60, ensure_row_contiguous=False)
    assert out.flat[0] == 10
    np.testing.assert_array_equal(out.ravel()[1:], a.ravel()[1:])


@pytest.mark.parametrize("kind", [np.array, mx.array])
def test_strides_count_elements(run, kind):
    a = kind(np.zeros((4, 6, 5), np.float16)).swapaxes(0, 2)[::2]
    source = "int i = thread_position_in_grid.x; out[i] = a_strides[i]; out[3] = a_ndim;"
    (out,) = run(source, [a], [(4,)], ["int64"], grid=3, ensure_row_contiguous=False)
    assert list(out) == [2, 5, 30, 3]


def test_unaligned_or_read_only_memory_is_accepted(run):
    whole = np.arange(11, dtype=np.float32)
    whole.flags.writeable = False
    (out,) = run(COPY, [whole[1:]], [(10,)], ["float32"], grid=10)
    np.testing.assert_array_equal(out, whole[1:])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (7.25, "float32"),
        (-3, "int32"),
        (2**40, "int64"),
        (True, "bool"),
        (1 + 2j, "complex64"),
        (np.float16(0.5), "float16"),
        (np.float64(0.5), "float32"),
        (ml_dtypes.bfloat16(0.5), "bfloat16"),
        (np.array(4, np.uint8), "uint8"),
    ],
)
def test_scalars(run, capsys, value, dtype):
    (out,) = run("out[0] = a;", [value], [(1,)], [dtype], grid=1, verbose=True)
    assert out[0] == value
    assert f"const constant {TYPES[dtype].msl}& a" in capsys.readouterr().out


def test_scalars_of_mlx(run):
    (out,) = run("out[0] = a + b;", [mx.array(2.5), 1], [()], [mx.float32], grid=1)
    assert isinstance(out, mx.array)
    assert out.shape == ()
    assert out.item() == 3.5


def test_arrays_without_elements(run):
    (out,) = run(COPY, [np.zeros((0, 3))], [(0, 3)], ["float32"], grid=0)
    assert out.shape == (0, 3)
    source = "out[0] = a_shape[0] + 10 * a_shape[1];"
    (out,) = run(source, [np.zeros((0, 3))], [(1,)], ["int32"], grid=1)
    assert out[0] == 30


def test_the_kind_of_the_outputs(run):
    x = np.ones(3, np.float32)
    assert type(run(COPY, [x], [(3,)], [mx.float32], grid=3)[0]) is np.ndarray
    assert type(run(COPY, [mx.array(x)], [(3,)], [np.float32], grid=3)[0]) is mx.array
    mixed = run("out[0] = a[0] + b[0];", [x, mx.array(x)], [(1,)], [np.float32], grid=1)
    assert type(mixed[0]) is mx.array
    assert type(run("out[0] = 1;", [], [(1,)], [np.float32], grid=1)[0]) is np.ndarray
    assert type(run("out[0] = a;", [2], [(1,)], [mx.float32], grid=1)[0]) is mx.array


def test_inputs_do_not_change_and_outputs_are_separate(run):
    x = np.arange(20, dtype=np.float32)
    kept = x.copy()
    first = run("out[thread_position_in_grid.x] = a[0] + 1;", [x], [(20,)], ["float32"], grid=20)[0]
    second = run("out[thread_position_in_grid.x] = 5;", [x], [(20,)], ["float32"], grid=20)[0]
    np.testing.assert_array_equal(x, kept)
    assert first[0] == 1
    first[0] = 9
    assert second[0] == 5
