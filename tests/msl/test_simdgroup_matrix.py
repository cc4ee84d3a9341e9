"""simdgroup_matrix, kept on one lane and, where thread_elements() is used, spread over all."""

from __future__ import annotations

import numpy as np
import pytest

LANES = np.arange(32)
ROWS = (LANES // 4 & 4) + LANES // 2 % 4
COLUMNS = (LANES // 4 & 2) * 2 + LANES % 2 * 2

COVERS = {
    "6.7 SIMD-group matrix functions": {
        *("simdgroup_matrix(T)", "make_filled_simdgroup_matrix", "simdgroup_load"),
        *("simdgroup_store", "simdgroup_multiply", "simdgroup_multiply_accumulate"),
        *("simdgroup operator*", "thread_elements"),
    }
}


@pytest.fixture
def matrices() -> np.ndarray:
    """Two 16x24 arrays, one after the other, of small integers: exact in every type."""
    return np.random.default_rng(7).integers(-4, 5, (2, 16, 24)).astype(np.float32)


# Mentioning it is what spreads the elements.
SPREAD = "if (x[0] > 1e30f) { simdgroup_float8x8 m; m.thread_elements()[0] = 0; }"


@pytest.fixture(params=["", SPREAD], ids=["one lane", "spread"])
def keeping(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("kind", ["float", "half", "bfloat"])
def test_multiply_accumulate(threadgroup, matrices, keeping, kind):
    body = f"""
        {keeping}
        threadgroup {kind} t[2 * 16 * 24];
        for (uint i = tid; i < 2 * 16 * 24; i += 32) t[i] = {kind}(x[i]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_matrix<{kind}, 8, 8> a, b;
        simdgroup_matrix<float, 8, 8> c = make_filled_simdgroup_matrix<float, 8, 8>(2.0f);
        for (uint k = 0; k < 24; k += 8) {{
          simdgroup_load(a, t, 24, ulong2(k, 8));
          simdgroup_load(b, t + 16 * 24, 24, ulong2(k, 0), true);
          simdgroup_multiply_accumulate(c, a, b, c);
        }}
        simdgroup_store(c, y, 8);
    """
    got = threadgroup(body, matrices, count=64)
    np.testing.assert_array_equal(got.reshape(8, 8), 2 + matrices[0, 8:] @ matrices[1, :8].T)


def test_strides_origins_and_transposition(threadgroup, matrices, keeping):
    body = f"""
        {keeping}
        simdgroup_float8x8 m, n;
        simdgroup_load(m, x, 24, ulong2(5, 7));
        simdgroup_store(m, y, 20, ulong2(2, 1), true);
        simdgroup_load(n, x, 24, ulong2(3, 4), true);
        simdgroup_store(n, y, 20, ulong2(11, 0));
    """
    got = threadgroup(body, matrices, count=200).reshape(10, 20)
    want = np.zeros((10, 20), np.float32)
    want[1:9, 2:10] = matrices[0, 7:15, 5:13].T
    want[0:8, 11:19] = matrices[0, 4:12, 3:11].T
    np.testing.assert_array_equal(got, want)


def test_diagonal_multiply_and_copies(threadgroup, matrices, keeping):
    body = f"""
        {keeping}
        simdgroup_float8x8 a, three(3.0f), d;
        simdgroup_load(a, x, 24);
        simdgroup_float8x8 copy = a;
        simdgroup_multiply(d, three, copy);
        simdgroup_float8x8 e = d * a;
        d = e;
        simdgroup_store(d, y);
    """
    got = threadgroup(body, matrices, count=64).reshape(8, 8)
    a = matrices[0, :8, :8]
    np.testing.assert_array_equal(got, 3 * a @ a)


def test_thread_elements_are_where_apple_gpus_have_them(threadgroup, matrices):
    body = """
        simdgroup_float8x8 m;
        simdgroup_load(m, x, 24);
        y[2 * lane] = m.thread_elements()[0];
        y[2 * lane + 1] = m.thread_elements()[1];
    """
    got = threadgroup(body, matrices, count=64).reshape(32, 2)
    np.testing.assert_array_equal(got[:, 0], matrices[0, ROWS, COLUMNS])
    np.testing.assert_array_equal(got[:, 1], matrices[0, ROWS, COLUMNS + 1])


def test_thread_elements_can_be_changed(threadgroup, matrices):
    body = """
        simdgroup_float8x8 m;
        simdgroup_load(m, x, 24);
        thread auto& pair = m.thread_elements();
        pair[0] = exp2(pair[0]);
        pair[1] *= 10;
        simdgroup_store(m, y, 8);
    """
    got = threadgroup(body, matrices, count=64).reshape(8, 8)
    a = matrices[0, :8, :8]
    want = np.where(np.arange(8) % 2 == 0, np.exp2(a), a * 10)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_half_accumulator_rounds_once(threadgroup):
    x = np.random.default_rng(8).normal(size=(8, 8)).astype(np.float16).astype(np.float32)
    body = """
        threadgroup half t[64];
        for (uint i = tid; i < 64; i += 32) t[i] = half(x[i]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_half8x8 a, c(0.0h);
        simdgroup_load(a, t, 8);
        simdgroup_multiply_accumulate(c, a, a, c);
        threadgroup half out[64];
        simdgroup_store(c, out, 8);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = tid; i < 64; i += 32) y[i] = out[i];
    """
    got = threadgroup(body, x, count=64).reshape(8, 8)
    np.testing.assert_allclose(got, x @ x, rtol=2**-11, atol=1e-6)


def test_thread_elements_have_the_storage_type(compiles):
    compiles("""
        static_assert(is_same_v<simdgroup_float8x8::storage_type, float2>);
        static_assert(sizeof(simdgroup_half8x8::storage_type) / sizeof(half) == 2);
        """)
    compiles("""
        void halved(thread simdgroup_half8x8& to, thread simdgroup_float8x8& from) {
          simdgroup_float8x8::storage_type all = from.thread_elements();
          to.thread_elements() = simdgroup_half8x8::storage_type(all);
        }""")
