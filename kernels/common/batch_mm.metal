// C[i] = A[i] B[i] for a batch of matrices, with simdgroup_matrix; the batch is the grid's depth.
// A threadgroup of four SIMD-groups computes a BM x BN tile of C, each SIMD-group a quarter of it,
// held in registers as 8 x 8 matrices of float. Tiles of A and B of depth BK pass through
// threadgroup memory twice buffered: while one pair of tiles is multiplied the next is on its way
// in registers, and it goes into the other buffer, which hides the latency of memory and takes one
// barrier per step. Padding of 16 bytes per row keeps the eight rows of a matrix load in different
// banks. Tiles at the edge are filled with zeros, so only fetch and store know the sizes.
// dispatch: batch_mm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM), batch)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// math: fast
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 128;
constant constexpr uint PAD = 4;
// Rows of the tiles in threadgroup memory in elements, tiles in quads.
constant constexpr uint A_PITCH = BK + PAD;
constant constexpr uint B_PITCH = BN + PAD;
constant constexpr uint A_TILE = BM * A_PITCH / 4;
constant constexpr uint B_TILE = BK * B_PITCH / 4;
// Quads of the tiles without padding, and how many of them a thread moves.
constant constexpr uint A_QUADS = BM * BK / 4;
constant constexpr uint B_QUADS = BK * BN / 4;
constant constexpr uint A_SHARE = (A_QUADS + THREADS - 1) / THREADS;
constant constexpr uint B_SHARE = (B_QUADS + THREADS - 1) / THREADS;
// 8 x 8 matrices down and across that a SIMD-group holds.
constant constexpr uint DOWN = BM / 16;
constant constexpr uint ACROSS = BN / 16;

// Four columns of a row; zero outside of the matrix. Rows are aligned for vector loads only if
// their number of columns is a multiple of four.
static float4 fetch(device const float* from, uint row, uint column, uint rows, uint cols) {
  float4 v = 0.0f;
  if (row >= rows || column >= cols) {
    return v;
  }
  device const float* p = from + ulong(row) * cols + column;
  if (cols % 4 == 0) {
    return *(device const float4*)p;
  }
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      v[i] = p[i];
    }
  }
  return v;
}

// A thread's share of the next tiles, on its way from device memory to threadgroup memory.
struct Share {
  float4 a[A_SHARE];
  float4 b[B_SHARE];

  // `first` is the first of the BK columns of A and rows of B; `sizes` are m, n and k.
  void fetch_from(device const float* a_matrix, device const float* b_matrix, uint2 corner,
                  uint first, uint3 sizes, uint thread_index) {
    for (uint i = 0; i < A_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      a[i] = fetch(a_matrix, corner.y + index / (BK / 4), first + 4 * (index % (BK / 4)), sizes.x,
                   sizes.z);
    }
    for (uint i = 0; i < B_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      b[i] = fetch(b_matrix, first + index / (BN / 4), corner.x + 4 * (index % (BN / 4)), sizes.z,
                   sizes.y);
    }
  }

  void put_into(threadgroup float4* tile, uint thread_index) const {
    for (uint i = 0; i < A_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      if (index < A_QUADS) {
        tile[index / (BK / 4) * (A_PITCH / 4) + index % (BK / 4)] = a[i];
      }
    }
    for (uint i = 0; i < B_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      if (index < B_QUADS) {
        tile[A_TILE + index / (BN / 4) * (B_PITCH / 4) + index % (BN / 4)] = b[i];
      }
    }
  }
};

// Adds the product of the SIMD-group's part of both tiles.
static void multiply(thread simdgroup_float8x8 (&sums)[DOWN][ACROSS],
                     threadgroup const float4* tile, uint2 part) {
  threadgroup const float* a_tile = (threadgroup const float*)tile + part.y * A_PITCH;
  threadgroup const float* b_tile = (threadgroup const float*)(tile + A_TILE) + part.x;
  for (uint k = 0; k < BK; k += 8) {
    simdgroup_float8x8 a[DOWN];
    simdgroup_float8x8 b[ACROSS];
    for (uint i = 0; i < DOWN; ++i) {
      simdgroup_load(a[i], a_tile + 8 * i * A_PITCH + k, A_PITCH);
    }
    for (uint j = 0; j < ACROSS; ++j) {
      simdgroup_load(b[j], b_tile + k * B_PITCH + 8 * j, B_PITCH);
    }
    for (uint i = 0; i < DOWN; ++i) {
      for (uint j = 0; j < ACROSS; ++j) {
        simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
      }
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(THREADS)]] void batch_mm(
    device const float* a, device const float* b, device float* c, constant uint& m,
    constant uint& n, constant uint& k,
    uint3 tile [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 tiles[2][A_TILE + B_TILE];
  const uint2 corner = tile.xy * uint2(BN, BM);
  const uint2 part = uint2(simdgroup % 2, simdgroup / 2) * uint2(BN / 2, BM / 2);

  simdgroup_float8x8 sums[DOWN][ACROSS];
  for (uint i = 0; i < DOWN; ++i) {
    for (uint j = 0; j < ACROSS; ++j) {
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
  }
  const uint3 sizes = uint3(m, n, k);
  a += ulong(tile.z) * m * k;
  b += ulong(tile.z) * k * n;
  c += ulong(tile.z) * m * n;
  Share share;
  share.fetch_from(a, b, corner, 0, sizes, thread_index);
  uint current = 0;
  for (uint first = 0; first < k; first += BK) {
    share.put_into(tiles[current], thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    share.fetch_from(a, b, corner, first + BK, sizes, thread_index);
    multiply(sums, tiles[current], part);
    current ^= 1;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  // Through threadgroup memory, eight rows at a time: whole rows of float leave in quads, and the
  // edge of the matrix is a test. Each SIMD-group has its own piece of what held the tiles.
  constexpr uint width = BN / 2;
  threadgroup float4* rows = tiles[0] + simdgroup * 8 * width / 4;
  for (uint i = 0; i < DOWN; ++i) {
    for (uint j = 0; j < ACROSS; ++j) {
      simdgroup_store(sums[i][j], (threadgroup float*)rows + 8 * j, width);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint index = lane; index < 8 * width / 4; index += 32) {
      const uint row = corner.y + part.y + 8 * i + index / (width / 4);
      const uint column = corner.x + part.x + 4 * (index % (width / 4));
      const float4 v = rows[index];
      device float* to = c + ulong(row) * n + column;
      if (row < m && column < n && n % 4 == 0) {
        *(device float4*)to = v;
      } else if (row < m) {
        for (uint l = 0; l < 4 && column + l < n; ++l) {
          to[l] = v[l];
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
