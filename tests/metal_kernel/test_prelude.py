"""The names that a source finds without including anything."""

from __future__ import annotations

import numpy as np
import pytest

SHAPE = (3, 4, 5)
WALKS = {
    "elem_to_loc<int64_t>": "elem_to_loc<int64_t>(i, a_shape, a_strides, a_ndim)",
    "elem_to_loc of uint": "elem_to_loc(i, a_shape, a_strides, a_ndim)",
    "elem_to_loc of uint3": "elem_to_loc<int>(p, a_shape, a_strides, a_ndim)",
    "elem_to_loc_3": "elem_to_loc_3(p, a_strides)",
    "elem_to_loc_2": "elem_to_loc_2(uint2(p.x, p.y), a_strides + 1) + p.z * a_strides[0]",
    "elem_to_loc_1": "elem_to_loc_1(p.x, a_strides[2]) + elem_to_loc_2(p.yz, a_strides)",
    "elem_to_loc_2_nd": "elem_to_loc_2_nd(p, a_shape, a_strides, a_strides, a_ndim).y",
    "elem_to_loc_3_nd": "elem_to_loc_3_nd<int>(p, a_shape, a_strides, a_strides, a_strides, 3).z",
}


@pytest.mark.parametrize("walk", WALKS)
def test_indexing(run, walk):
    a = np.arange(3 * 8 * 5).reshape(3, 8, 5)[:, ::2].swapaxes(0, 1).astype(np.int32, order="K")
    source = f"""
        uint3 p = thread_position_in_grid;
        uint i = (p.z * a_shape[1] + p.y) * a_shape[2] + p.x;
        out[i] = a[{WALKS[walk]}]; (void)a_ndim;
    """
    z, y, x = a.shape
    options = {"grid": (x, y, z), "ensure_row_contiguous": False}
    (out,) = run(source, [a], [a.shape], ["int32"], **options)
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("step", [1, 3, 17])
def test_looped_indexing(run, step):
    a = np.arange(120, dtype=np.int32).reshape(4, 5, 6).T
    source = f"""
        LoopedElemToLoc<3, int, true> at(a_ndim);
        for (int i = 0; i < {a.size}; i += {step}) {{
            out[i / {step}] = a[at.location()];
            at.next({step}, a_shape, a_strides);
        }}
        LoopedElemToLoc<1> one(a_ndim);
        one.next(a_shape, a_strides);
        out[{a.size // step + 1}] = a[one.location()];
    """
    count = a.size // step + 2
    options = {"grid": 1, "ensure_row_contiguous": False, "init_value": -1}
    (out,) = run(source, [a], [(count,)], ["int32"], **options)
    expected = a.ravel()[::step]
    np.testing.assert_array_equal(out[: len(expected)], expected)
    assert out[-1] == a.ravel()[1]


def complex_numbers(seed, count=50):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(np.complex64)


OPERATIONS = {
    "a[i] + b[i]": lambda a, b: a + b,
    "a[i] - b[i]": lambda a, b: a - b,
    "a[i] * b[i]": lambda a, b: a * b,
    "a[i] / b[i]": lambda a, b: a / b,
    "-a[i]": lambda a, b: -a,
    "2 * a[i] + 1.0f": lambda a, b: 2 * a + 1,
    "1 / a[i] - half(3)": lambda a, b: 1 / a - 3,
    "complex64_t(b[i].imag, a[i].real)": lambda a, b: b.imag + 1j * a.real,
    "complex64_t(float2(a[i]).yx)": lambda a, b: a.imag + 1j * a.real,
    "a[i] > b[i] ? a[i] : b[i]": lambda a, b: np.where(a.real > b.real, a, b),
    "static_cast<float>(a[i])": lambda a, b: a.real.astype(complex),
    "complex64_t(complex32_t(0.5h, 2) * bfloat(2))": lambda a, b: np.full(len(a), 1 + 4j),
    "complex64_t(a[i] == a[i], a[i] != b[i])": lambda a, b: np.full(len(a), 1 + 1j),
}


@pytest.mark.parametrize("expression", OPERATIONS)
def test_complex_numbers(run, expression):
    a, b = complex_numbers(1), complex_numbers(2)
    source = f"uint i = thread_position_in_grid.x; out[i] = {expression};"
    (out,) = run(source, [a, b], [(50,)], ["complex64"], grid=50)
    expected = OPERATIONS[expression](a.astype(complex), b.astype(complex))
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_complex_assignments_and_order(run):
    a, b = complex_numbers(3), complex_numbers(4)
    b[:25].real = a[:25].real
    source = """
        uint i = thread_position_in_grid.x;
        complex64_t z = a[i];
        z += b[i]; z *= 2; z -= b[i]; z /= complex64_t(0, 1);
        out1[i] = z;
        out2[i] = (a[i] < b[i]) + 2 * (a[i] <= b[i]) + 4 * (a[i] > b[i]) + 8 * (a[i] >= b[i]);
    """
    z, order = run(source, [a, b], [(50,)] * 2, ["complex64", "int32"], grid=50)
    np.testing.assert_allclose(z, ((a + b) * 2 - b) / 1j, rtol=1e-5)
    np.testing.assert_array_equal(order, np.where(a < b, 3, 12))


def test_the_remainder_of_complex_numbers(run):
    a = np.array([7 - 7j, -7.5 + 2j], np.complex64)
    (out,) = run(
        "out[0] = a[0] % a[2]; out[1] = a[1] % a[2];",
        [np.append(a, np.complex64(3 + 4j))],
        [(2,)],
        ["complex64"],
        grid=1,
    )
    np.testing.assert_array_equal(out.real, np.mod(a.real, 3))
    np.testing.assert_array_equal(out.imag, np.mod(a.imag, 4))


@pytest.mark.parametrize("name", ["int8", "uint16", "int64", "uint64"])
def test_limits_of_integers(run, name):
    source = "out[0] = Limits<T>::min; out[1] = Limits<T>::max; out[2] = Limits<T>::finite_max;"
    options = {"grid": 1, "template": [("T", np.dtype(name))]}
    (out,) = run(source, [], [(3,)], [name], **options)
    info = np.iinfo(name)
    assert out.tolist() == [info.min, info.max, info.max]


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_limits_of_floats(run, name):
    source = """
        out[0] = Limits<T>::min; out[1] = Limits<T>::max;
        out[2] = Limits<T>::finite_min; out[3] = Limits<T>::finite_max;
        out[4] = Limits<bool>::max - Limits<bool>::min + float(Limits<bfloat16_t>::max);
        out[5] = Limits<complex64_t>::min.imag;
    """
    options = {"grid": 1, "template": [("T", np.dtype(name))]}
    (out,) = run(source, [], [(6,)], [name], **options)
    most = float(np.finfo(name).max)
    assert out.tolist() == [-np.inf, np.inf, -most, most, np.inf, -np.inf]


def test_small_functions(run):
    source = """
        out[0] = ceildiv(33, 32u); out[1] = ceildiv(int(64), 32);
        out[2] = cast_to<bool>(1e-44f); out[3] = cast_to<bool>(-0.0f);
        out[4] = cast_to<bool>(complex64_t(0, 1e-40f)); out[5] = cast_to<int>(-2.7f);
        out[6] = cast_to<bool>(bfloat16_t(0.0f)); out[7] = cast_to<bool>(bfloat16_t(1e-30f));
        out[8] = WorkPerThread<half>::n; out[9] = bfloat16_to_uint16(bfloat16_t(1.0f));
        out[10] = uint16_to_bfloat16(0x4040); out[11] = REDUCE_N_READS;
        out[12] = sizeof(ConditionalType<false, int, char>::type);
    """
    (out,) = run(source, [], [(13,)], ["int32"], grid=1)
    assert out.tolist() == [2, 2, 1, 0, 1, -2, 0, 1, 4, 0x3F80, 3, 4, 1]


def test_logging_is_available(run):
    header = 'constant mlx::os_log logger("subsystem", "category");'
    source = 'logger.log_debug("%d", out[0]); out[0] = 1;'
    assert run(source, [], [(1,)], ["int32"], grid=1, header=header)[0] == 1


def test_log1p(run):
    x = np.array([1e-20, -1e-10, 1e-4, -0.5, 3, 1e30, np.inf, 0], np.float32)
    source = "uint i = thread_position_in_grid.x; out1[i] = log1p(a[i]); out2[i] = log1p(b[i]);"
    z = complex_numbers(5, 8) * np.float32([1e-6, 1e-3, 0.1, 0.4, 1, 3, 100, 0])
    real, complex_ = run(source, [x, z], [(8,)] * 2, ["float32", "complex64"], grid=8)
    np.testing.assert_allclose(real, np.log1p(x.astype(np.float64)), rtol=1e-6)
    np.testing.assert_allclose(complex_, np.log1p(z.astype(complex)), rtol=2e-6)


@pytest.mark.parametrize("name", ["int64", "uint64", "bool", "complex64"])
def test_shuffles_of_types_beyond_metal(run, name):
    a = (np.arange(64) * (1 << 40) + np.arange(64)).astype("uint64").astype("int64")
    a = a % 3 == 0 if name == "bool" else a.astype(name)
    if name == "complex64":
        a = a + np.complex64(1j)
    source = """
        uint i = thread_position_in_grid.x;
        ushort lane = thread_index_in_simdgroup;
        out1[i] = simd_shuffle(a[i], ushort(31 - lane));
        out2[i] = simd_shuffle_down(a[i], 2);
        out3[i] = simd_shuffle_up(a[i], 2);
        out4[i] = simd_shuffle_and_fill_up(a[i], a[63], 2);
    """
    outs = run(source, [a], [(64,)] * 4, [name] * 4, grid=64)
    reverse, down, up, fill = (out.reshape(2, 32) for out in outs)
    rows = a.reshape(2, 32)
    np.testing.assert_array_equal(reverse, rows[:, ::-1])
    np.testing.assert_array_equal(down[:, :30], rows[:, 2:])
    np.testing.assert_array_equal(up[:, 2:], rows[:, :30])
    np.testing.assert_array_equal(fill[:, 2:], rows[:, :30])
    np.testing.assert_array_equal(fill[:, :2], np.full((2, 2), a[63]))
