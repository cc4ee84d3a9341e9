"""Counts of kernels that are simple enough to say by hand what they must be."""

from __future__ import annotations

import numpy as np
import pytest

N = 256
SIMD = 32


def floats(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_copy(counted):
    got = counted(
        """kernel void copy(device const float* x, device float* y,
                            uint i [[thread_position_in_grid]]) { y[i] = x[i]; }""",
        {"x": floats(N), "y": np.zeros(N, np.float32)},
        (N,),
        (64,),
    )
    assert (got.threads, got.simdgroups) == (N, N // SIMD)
    assert (got.total.device_bytes_read, got.total.device_bytes_written) == (4 * N, 4 * N)
    assert (got.unique_bytes_read, got.unique_bytes_written) == (4 * N, 4 * N)
    assert got.total.device_transactions == 2 * N // SIMD
    assert got.total.coalescing == 1
    assert (got.most_device_reads, got.most_device_writes) == (1, 1)
    assert got.active_lanes == 1


@pytest.mark.parametrize("stride", [1, 2, 8, 32, 40])
def test_strided(counted, stride):
    got = counted(
        """kernel void strided(device const float* x, device float* y, constant uint& stride,
                               uint i [[thread_position_in_grid]]) { y[i] = x[i * stride]; }""",
        {"x": floats(N * stride), "y": np.zeros(N, np.float32), "stride": stride},
        (N,),
        (64,),
    )
    groups = N // SIMD
    touched = {i * stride * 4 // 128 + 1000 * (i // SIMD) for i in range(N)}
    assert got.total.device_transactions == groups + len(touched)
    assert got.total.least_device_transactions == 2 * groups
    assert (got.total.constant_reads, got.total.integer) == (N, N)


def test_transpose_naive(counted):
    n = 64
    got = counted(
        """kernel void transpose(device const float* x, device float* y, constant uint& n,
                                 uint2 p [[thread_position_in_grid]]) {
             y[p.x * n + p.y] = x[p.y * n + p.x];
           }""",
        {"x": floats(n, n), "y": np.zeros((n, n), np.float32), "n": n},
        (n, n),
        (32, 8),
    )
    simdgroups = n * n // SIMD
    # A row is read whole; each lane writes to another row.
    assert got.total.device_transactions == simdgroups * (1 + 32)
    assert got.total.least_device_transactions == simdgroups * 2
    # Two products and two sums for the indices.
    assert got.total.integer == 4 * n * n


@pytest.mark.parametrize(("pitch", "turns"), [(32, 32), (33, 1)])
def test_transpose_tiled(counted, pitch, turns):
    n = 64
    got = counted(
        f"""kernel void transpose(device const float* x, device float* y, constant uint& n,
                                  uint2 t [[thread_position_in_threadgroup]],
                                  uint2 g [[threadgroup_position_in_grid]]) {{
             threadgroup float tile[32 * {pitch}];
             tile[t.y * {pitch} + t.x] = x[(g.y * 32 + t.y) * n + g.x * 32 + t.x];
             threadgroup_barrier(mem_flags::mem_threadgroup);
             y[(g.x * 32 + t.y) * n + g.y * 32 + t.x] = tile[t.x * {pitch} + t.y];
           }}""",
        {"x": floats(n, n), "y": np.zeros((n, n), np.float32), "n": n},
        (n, n),
        (32, 32),
    )
    simdgroups = n * n // SIMD
    assert got.total.device_transactions == 2 * simdgroups
    assert got.total.threadgroup_bytes_read == got.total.threadgroup_bytes_written == 4 * n * n
    assert got.total.bank_turns == simdgroups * (1 + turns)
    assert got.total.bank_conflicts == simdgroups * (turns - 1)
    assert got.total.barriers == simdgroups
    assert (got.most_threadgroup_reads, got.most_threadgroup_writes) == (1, 1)


def test_reduction(counted):
    got = counted(
        """kernel void total(device const float* x, device float* sums,
                             uint i [[thread_position_in_grid]],
                             uint t [[thread_position_in_threadgroup]],
                             uint group [[threadgroup_position_in_grid]]) {
             threadgroup float part[64];
             part[t] = x[i];
             threadgroup_barrier(mem_flags::mem_threadgroup);
             for (uint half_ = 32; half_ > 0; half_ /= 2) {
               if (t < half_) part[t] += part[t + half_];
               threadgroup_barrier(mem_flags::mem_threadgroup);
             }
             if (t == 0) sums[group] = part[0];
           }""",
        {"x": floats(N), "sums": np.zeros(N // 64, np.float32)},
        (N,),
        (64,),
    )
    groups = N // 64
    adds = 32 + 16 + 8 + 4 + 2 + 1
    assert got.total.float_add == groups * adds
    assert got.total.threadgroup_writes == groups * (64 + adds)
    assert got.total.threadgroup_reads == groups * (2 * adds + 1)
    assert got.total.barriers == groups * 2 * 7
    assert got.most_threadgroup_reads == 2 * 6 + 1
    assert got.most_device_writes == 1
    assert got.total.integer_divide == 6 * N


def test_scan(counted):
    got = counted(
        """kernel void scan(device const float* x, device float* y,
                            uint i [[thread_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]]) {
             float sum = x[i];
             for (ushort by = 1; by < 32; by *= 2) {
               float other = simd_shuffle_up(sum, by);
               if (lane >= by) sum += other;
             }
             y[i] = sum + simd_prefix_exclusive_sum(sum);
           }""",
        {"x": floats(N), "y": np.zeros(N, np.float32)},
        (N,),
        (64,),
    )
    simdgroups = N // SIMD
    assert got.total.simdgroup_operations == simdgroups * (5 + 1)
    assert got.total.float_add == simdgroups * sum(32 - by for by in (1, 2, 4, 8, 16)) + N
    assert got.total.device_bytes == 8 * N


def test_matmul_naive(counted):
    m, n, k = 8, 32, 20
    got = counted(
        """kernel void matmul(device const float* a, device const float* b, device float* c,
                              constant uint& n, constant uint& k,
                              uint2 p [[thread_position_in_grid]]) {
             float sum = 0;
             for (uint i = 0; i < k; ++i) sum += a[p.y * k + i] * b[i * n + p.x];
             c[p.y * n + p.x] = sum;
           }""",
        {"a": floats(m, k), "b": floats(k, n), "c": np.zeros((m, n), np.float32), "n": n, "k": k},
        (n, m),
        (32, 4),
    )
    assert got.total.device_reads == 2 * m * n * k
    assert (got.total.float_add, got.total.float_multiply) == (m * n * k, m * n * k)
    assert got.total.flops == 2 * m * n * k
    # Each row of a SIMD-group reads one element of a, and a line of b.
    assert got.total.device_transactions == m * (2 * k + 1)
    assert got.unique_bytes_read == 4 * (m * k + k * n)
    assert got.reuse == 2 * m * n * k / (m * k + k * n)
    assert (got.most_device_reads, got.most_device_writes) == (2 * k, 1)
    # k of each turn's comparison and index, n of each turn's and of the last.
    assert got.total.constant_reads == m * n * ((k + 1) + k + k + 1)


def test_matmul_tiled(counted):
    n, tile = 32, 8
    got = counted(
        """kernel void matmul(device const float* a, device const float* b, device float* c,
                              uint2 p [[thread_position_in_grid]],
                              uint2 t [[thread_position_in_threadgroup]]) {
             threadgroup float left[8][8], right[8][8];
             float sum = 0;
             for (uint k = 0; k < 32; k += 8) {
               left[t.y][t.x] = a[p.y * 32 + k + t.x];
               right[t.y][t.x] = b[(k + t.y) * 32 + p.x];
               threadgroup_barrier(mem_flags::mem_threadgroup);
               for (uint i = 0; i < 8; ++i) sum = fma(left[t.y][i], right[i][t.x], sum);
               threadgroup_barrier(mem_flags::mem_threadgroup);
             }
             c[p.y * 32 + p.x] = sum;
           }""",
        {"a": floats(n, n), "b": floats(n, n), "c": np.zeros((n, n), np.float32)},
        (n, n),
        (tile, tile),
    )
    steps, groups = n // tile, (n // tile) ** 2
    assert got.total.float_fma == n**3
    assert got.total.device_bytes_read == groups * steps * 2 * tile**2 * 4
    assert got.total.threadgroup_writes == groups * steps * 2 * tile**2
    assert got.total.threadgroup_reads == 2 * n**3
    assert got.total.barriers == groups * 2 * steps * 2
    # A SIMD-group is four rows of eight: four pieces of 32 bytes, each in another line.
    assert got.total.device_transactions == groups * 2 * 4 * (2 * steps + 1)
    assert got.reuse == n // tile


def test_matmul_by_simdgroup_matrices(counted):
    n = 32
    got = counted(
        """kernel void matmul(device const float* a, device const float* b, device float* c,
                              uint2 g [[threadgroup_position_in_grid]]) {
             simdgroup_float8x8 left, right, sum(0);
             for (uint k = 0; k < 32; k += 8) {
               simdgroup_load(left, a + g.y * 8 * 32 + k, 32);
               simdgroup_load(right, b + k * 32 + g.x * 8, 32);
               simdgroup_multiply_accumulate(sum, left, right, sum);
             }
             simdgroup_store(sum, c + g.y * 8 * 32 + g.x * 8, 32);
           }""",
        {"a": floats(n, n), "b": floats(n, n), "c": np.zeros((n, n), np.float32)},
        (4 * SIMD, 4),
        (SIMD, 1),
    )
    assert got.total.matrix_multiplies == 4 * 4 * 4
    assert got.total.flops == 2 * n**3
    assert got.total.device_bytes_read == 16 * 4 * 2 * 64 * 4
    assert got.total.device_bytes_written == 4 * n * n
    # Eight rows of 32 bytes, 128 bytes apart.
    assert got.total.device_transactions == 16 * 8 * (2 * 4 + 1)
    assert got.total.float_add == got.total.float_fma == 0


def test_convolution(counted):
    n, taps = 128, 5
    got = counted(
        """constant float weights[5] = {1, 2, 3, 2, 1};
           kernel void convolve(device const float* x, device float* y, constant int& n,
                                uint i [[thread_position_in_grid]]) {
             float sum = 0;
             for (int k = -2; k <= 2; ++k) {
               int at = int(i) + k;
               if (at >= 0 && at < n) sum += weights[k + 2] * x[at];
             }
             y[i] = sum;
           }""",
        {"x": floats(n), "y": np.zeros(n, np.float32), "n": n},
        (n,),
        (64,),
    )
    inside = taps * n - 2 * (1 + 2)
    assert got.total.device_reads == inside
    assert (got.total.float_add, got.total.float_multiply) == (inside, inside)
    assert got.unique_bytes_read == 4 * n
    assert got.most_device_reads == taps
    # All taps but the middle one reach into a neighbour's line, where there is one.
    read = 4 * taps + (2 + 4 + 4 + 2)
    assert got.total.device_transactions == n // SIMD + read


def test_histogram(counted):
    keys = (np.arange(N) % 8).astype(np.uint32)
    got = counted(
        """kernel void histogram(device const uint* keys, device atomic_uint* bins,
                                 uint i [[thread_position_in_grid]]) {
             atomic_fetch_add_explicit(&bins[keys[i]], 1, memory_order_relaxed);
           }""",
        {"keys": keys, "bins": np.zeros(8, np.uint32)},
        (N,),
        (64,),
    )
    assert got.total.atomics == N
    # Of 32 lanes 8 are the first at their bin.
    assert got.total.contended == N // SIMD * (32 - 8)
    assert got.total.device_reads == 2 * N
    assert got.total.device_transactions == 2 * N // SIMD


def test_gather(counted):
    order = np.random.default_rng(3).permutation(N).astype(np.uint32)
    got = counted(
        """kernel void gather(device const float4* x, device const uint* order,
                              device float4* y, uint i [[thread_position_in_grid]]) {
             y[i] = x[order[i]];
           }""",
        {"x": floats(N, 4), "order": order, "y": np.zeros((N, 4), np.float32)},
        (N,),
        (64,),
    )
    touched = sum(len({key // 8 for key in part}) for part in order.reshape(-1, SIMD).tolist())
    assert got.total.device_transactions == N // SIMD * (1 + 4) + touched
    assert got.total.least_device_transactions == N // SIMD * (1 + 4 + 4)
    assert got.total.device_bytes == N * (4 + 16 + 16)


def test_half_of_the_lanes(counted):
    got = counted(
        """kernel void branch(device float* x, uint i [[thread_position_in_grid]]) {
             if (i % 2 == 0) x[i] = 1;
           }""",
        {"x": np.zeros(N, np.float32)},
        (N,),
        (64,),
    )
    assert got.total.device_writes == N // 2
    # The condition and what comes behind are run by all, the assignment by half.
    assert got.active_lanes == pytest.approx((1 + 0.5 + 1) / 3)


def test_counts_are_the_same_each_time(counted):
    source = """kernel void k(device float* x, uint i [[thread_position_in_grid]]) {
                  x[i] = exp(x[i]) + simd_sum(x[i ^ 1]);
                }"""
    runs = [counted(source, {"x": floats(N)}, (N,), (64,)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].total.float_special == N
