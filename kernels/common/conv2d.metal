// 3 x 3 convolution, stride 1, no padding, channels last: an implicit matrix product Y = A W^T.
// Rows of A are output pixels, columns of A and W are (kernel row, kernel column, channel). A is
// never stored: the three pixels below one row of the kernel are 3 * channels consecutive numbers,
// so a fetch finds its address with one division. A threadgroup of four SIMD-groups computes BM
// pixels x BN filters, each SIMD-group a quarter, held in registers as 8 x 8 matrices. Tiles of
// depth BK pass through threadgroup memory twice buffered: while one pair of tiles is multiplied
// the next is on its way in registers, and it goes into the other buffer: one barrier per step.
// Padding of 16 bytes per row keeps the eight rows of a matrix load in different banks. Tiles at
// the edge are filled with zeros, so only fetch and store know the sizes.
// dispatch: conv2d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// math: fast
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 128;
constant constexpr uint PITCH = BK + 4;
// Tiles in threadgroup memory, in quads.
constant constexpr uint A_TILE = BM * PITCH / 4;
constant constexpr uint W_TILE = BN * PITCH / 4;
// Quads of the tiles without padding, and how many of them a thread moves.
constant constexpr uint A_QUADS = BM * BK / 4;
constant constexpr uint W_QUADS = BN * BK / 4;
constant constexpr uint A_SHARE = (A_QUADS + THREADS - 1) / THREADS;
constant constexpr uint W_SHARE = (W_QUADS + THREADS - 1) / THREADS;
// 8 x 8 matrices down and across that a SIMD-group holds.
constant constexpr uint DOWN = BM / 16;
constant constexpr uint ACROSS = BN / 16;

// A thread's share of the next tiles, on its way from device memory to threadgroup memory.
struct Share {
  // Where the input pixels and the filters of this thread's rows begin; null past the last one.
  device const float* pixel[A_SHARE];
  device const float* filter[W_SHARE];
  float4 a[A_SHARE];
  float4 w[W_SHARE];
  uint channels;
  uint input_row;

  // Columns column.. of the row of A that begins at `from`; zero outside.
  float4 fetch_pixels(device const float* from, uint column) const {
    const uint kernel_row = 3 * channels;
    const uint depth = 3 * kernel_row;
    float4 v = 0.0f;
    if (!from || column >= depth) {
      return v;
    }
    if (channels % 4 == 0) {
      return *(device const float4*)(from + column / kernel_row * input_row + column % kernel_row);
    }
    for (uint i = column; i < min(column + 4, depth); ++i) {
      v[i - column] = from[i / kernel_row * input_row + i % kernel_row];
    }
    return v;
  }

  float4 fetch_filter(device const float* from, uint column) const {
    float4 v = 0.0f;
    if (!from || column >= 9 * channels) {
      return v;
    }
    if (channels % 4 == 0) {
      return *(device const float4*)(from + column);
    }
    for (uint i = column; i < min(column + 4, 9 * channels); ++i) {
      v[i - column] = from[i];
    }
    return v;
  }

  void fetch(uint first, uint thread_index) {
    for (uint i = 0; i < A_SHARE; ++i) {
      a[i] = fetch_pixels(pixel[i], first + 4 * ((thread_index + i * THREADS) % (BK / 4)));
    }
    for (uint i = 0; i < W_SHARE; ++i) {
      w[i] = fetch_filter(filter[i], first + 4 * ((thread_index + i * THREADS) % (BK / 4)));
    }
  }

  void put_into(threadgroup float4* tile, uint thread_index) const {
    for (uint i = 0; i < A_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      if (index < A_QUADS) {
        tile[index / (BK / 4) * (PITCH / 4) + index % (BK / 4)] = a[i];
      }
    }
    for (uint i = 0; i < W_SHARE; ++i) {
      const uint index = thread_index + i * THREADS;
      if (index < W_QUADS) {
        tile[A_TILE + index / (BK / 4) * (PITCH / 4) + index % (BK / 4)] = w[i];
      }
    }
  }
};

// Adds the product of the SIMD-group's part of both tiles.
static void multiply(thread simdgroup_float8x8 (&sums)[DOWN][ACROSS],
                     threadgroup const float4* tile, uint2 part) {
  threadgroup const float* a_tile = (threadgroup const float*)tile + part.y * PITCH;
  threadgroup const float* w_tile = (threadgroup const float*)(tile + A_TILE) + part.x * PITCH;
  for (uint k = 0; k < BK; k += 8) {
    simdgroup_float8x8 a[DOWN];
    simdgroup_float8x8 w[ACROSS];
    for (uint i = 0; i < DOWN; ++i) {
      simdgroup_load(a[i], a_tile + 8 * i * PITCH + k, PITCH);
    }
    for (uint j = 0; j < ACROSS; ++j) {
      simdgroup_load(w[j], w_tile + 8 * j * PITCH + k, PITCH, ulong2(0), true);
    }
    for (uint i = 0; i < DOWN; ++i) {
      for (uint j = 0; j < ACROSS; ++j) {
        simdgroup_multiply_accumulate(sums[i][j], a[i], w[j], sums[i][j]);
      }
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(THREADS)]] void conv2d(
    device const float* x, device const float* w, device float* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 tiles[2][A_TILE + W_TILE];
  const uint2 corner = tile * uint2(BN, BM);
  const uint2 part = uint2(simdgroup % 2, simdgroup / 2) * uint2(BN / 2, BM / 2);
  const uint across = width - 2;
  const uint down = height - 2;
  const uint pixels = batch * down * across;

  Share share;
  share.channels = channels;
  share.input_row = width * channels;
  for (uint i = 0; i < A_SHARE; ++i) {
    const uint p = corner.y + (thread_index + i * THREADS) / (BK / 4);
    const uint image_row = p / across / down * height + p / across % down;
    const ulong offset = (ulong(image_row) * width + p % across) * channels;
    share.pixel[i] = p < pixels ? x + offset : nullptr;
  }
  for (uint i = 0; i < W_SHARE; ++i) {
    const uint f = corner.x + (thread_index + i * THREADS) / (BK / 4);
    share.filter[i] = f < filters ? w + ulong(f) * 9 * channels : nullptr;
  }
  simdgroup_float8x8 sums[DOWN][ACROSS];
  for (uint i = 0; i < DOWN; ++i) {
    for (uint j = 0; j < ACROSS; ++j) {
      sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
  }
  share.fetch(0, thread_index);
  uint current = 0;
  for (uint first = 0; first < 9 * channels; first += BK) {
    share.put_into(tiles[current], thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    share.fetch(first + BK, thread_index);
    multiply(sums, tiles[current], part);
    current ^= 1;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  // Through threadgroup memory, eight pixels at a time: whole rows leave in quads, and the edge is
  // a test. Each SIMD-group has its own piece of what held the tiles.
  constexpr uint part_width = BN / 2;
  threadgroup float4* rows = tiles[0] + simdgroup * 8 * part_width / 4;
  for (uint i = 0; i < DOWN; ++i) {
    for (uint j = 0; j < ACROSS; ++j) {
      simdgroup_store(sums[i][j], (threadgroup float*)rows + 8 * j, part_width);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint index = lane; index < 8 * part_width / 4; index += 32) {
      const uint p = corner.y + part.y + 8 * i + index / (part_width / 4);
      const uint f = corner.x + part.x + 4 * (index % (part_width / 4));
      const float4 v = rows[index];
      device float* to = y + ulong(p) * filters + f;
      if (p < pixels && f < filters && filters % 4 == 0) {
        *(device float4*)to = v;
      } else if (p < pixels) {
        for (uint l = 0; l < 4 && f + l < filters; ++l) {
          to[l] = v[l];
        }
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
