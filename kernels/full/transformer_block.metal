// Pre-norm transformer block: x1 = x + MHA(LN x), then y = x1 + W_down gelu(W_up LN x1).
// Five dispatches: a layer norm is no pass of its own, each threadgroup of the product after it
// takes mean and scale of its 32 rows first and normalises while it fills its tiles; residuals and
// gelu are part of how a product is stored. Products are 32 x 32 tiles of simdgroup_matrix, twice
// buffered. Attention is one pass with an online softmax: a SIMD-group has four queries of a head,
// so that what it reads from threadgroup memory serves four; lanes are keys first, then columns.
// dispatch: project_qkv  threadgroups=(ceil_div(3 * dims, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 16), heads)  threads=(128)
// dispatch: project_out  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_up  threadgroups=(ceil_div(hidden, 32), ceil_div(tokens, 32))  threads=(128)
// dispatch: project_down  threadgroups=(ceil_div(dims, 32), ceil_div(tokens, 32))  threads=(128)
// scratch: qkv float32 (tokens, 3 * dims)
// scratch: attended float32 (tokens, dims)
// scratch: mixed float32 (tokens, dims)
// scratch: lifted float32 (tokens, hidden)
// tune: BK = 16, 8
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 128;
// Rows and columns of a tile of a product; keys of a block of attention.
constant constexpr uint TILE = 32;
// Padding by 16 bytes keeps the rows of a matrix load in different banks. Tiles are in quads.
constant constexpr uint A_PITCH = BK + 4;
constant constexpr uint B_PITCH = TILE + 4;
constant constexpr uint A_TILE = TILE * A_PITCH / 4;
constant constexpr uint B_TILE = BK * B_PITCH / 4;
// Queries of a SIMD-group, and rows of a head: odd, so that the lanes of a column meet 32 banks.
constant constexpr uint QUERIES = 4;
constant constexpr uint HEAD_PITCH = 128 + 1;

// What a threadgroup needs to know of its place, and one thread of its own.
struct Place {
  uint2 corner;
  uint thread_index, lane, simdgroup;
};

// A row-major matrix.
struct Matrix {
  device const float* data;
  uint rows, cols;

  // Four columns of a row; zero outside. Vector loads need a multiple of four columns to a row.
  float4 quad(uint row, uint column) const {
    float4 v = 0.0f;
    if (row >= rows || column >= cols) {
      return v;
    }
    device const float* p = data + ulong(row) * cols + column;
    if (cols % 4 == 0) {
      return *(device const float4*)p;
    }
    for (uint i = 0; i < min(4u, cols - column); ++i) {
      v[i] = p[i];
    }
    return v;
  }
};

// Mean and 1 / standard deviation of the tile's rows; zeros past the last row. Each SIMD-group
// takes every fourth row.
static void take_moments(threadgroup float2* moments, Matrix a, float eps, Place place) {
  for (uint i = place.simdgroup; i < TILE; i += THREADS / 32) {
    const uint row = place.corner.y + i;
    float2 result = 0.0f;
    if (row < a.rows) {
      device const float* p = a.data + ulong(row) * a.cols;
      float sum = 0.0f;
      for (uint c = place.lane; c < a.cols; c += 32) {
        sum += p[c];
      }
      result.x = simd_sum(sum) / float(a.cols);
      float squares = 0.0f;
      for (uint c = place.lane; c < a.cols; c += 32) {
        squares += (p[c] - result.x) * (p[c] - result.x);
      }
      result.y = precise::rsqrt(simd_sum(squares) / float(a.cols) + eps);
    }
    if (place.lane == 0) {
      moments[i] = result;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// A thread's share of the next tiles: a quad of each, on its way to threadgroup memory.
struct Share {
  float4 a, b;

  // From columns first.. of A, normalised if there are moments, and rows first.. of B. A normalised
  // zero past the last column is no zero, but meets one of B.
  void fetch(Matrix a_matrix, Matrix b_matrix, threadgroup const float2* moments, uint first,
             Place place) {
    const uint index = place.thread_index % (TILE * BK / 4);
    const uint a_row = index / (BK / 4);
    a = a_matrix.quad(place.corner.y + a_row, first + 4 * (index % (BK / 4)));
    a = moments ? (a - moments[a_row].x) * moments[a_row].y : a;
    b = b_matrix.quad(first + index / (TILE / 4), place.corner.x + 4 * (index % (TILE / 4)));
  }

  void put_into(threadgroup float4* tile, uint index) const {
    if (index < TILE * BK / 4) {
      tile[index / (BK / 4) * (A_PITCH / 4) + index % (BK / 4)] = a;
      tile[A_TILE + index / (TILE / 4) * (B_PITCH / 4) + index % (TILE / 4)] = b;
    }
  }
};

// Adds the product of a SIMD-group's quarter of both tiles.
static void multiply(thread simdgroup_float8x8 (&sums)[2][2], threadgroup const float4* tile,
                     uint2 part) {
  threadgroup const float* a_tile = (threadgroup const float*)tile + part.y * A_PITCH;
  threadgroup const float* b_tile = (threadgroup const float*)(tile + A_TILE) + part.x;
  for (uint k = 0; k < BK; k += 8) {
    simdgroup_float8x8 a[2], b[2];
    for (uint i = 0; i < 2; ++i) {
      simdgroup_load(a[i], a_tile + 8 * i * A_PITCH + k, A_PITCH);
      simdgroup_load(b[i], b_tile + k * B_PITCH + 8 * i, B_PITCH);
    }
    for (uint i = 0; i < 4; ++i) {
      simdgroup_multiply_accumulate(sums[i / 2][i % 2], a[i / 2], b[i % 2], sums[i / 2][i % 2]);
    }
  }
}

// The tile of A B at place.corner, left in threadgroup memory row by row. `tiles` holds two pairs
// of tiles; without `moments` A is taken as it is.
static void product(threadgroup float4* tiles, Matrix a, Matrix b, threadgroup float2* moments,
                    float eps, Place place) {
  if (moments) {
    take_moments(moments, a, eps, place);
  }
  const uint2 part = 16 * uint2(place.simdgroup % 2, place.simdgroup / 2);
  simdgroup_float8x8 sums[2][2];
  for (uint i = 0; i < 4; ++i) {
    sums[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
  Share share;
  share.fetch(a, b, moments, 0, place);
  uint current = 0;
  for (uint k = 0; k < a.cols; k += BK) {
    share.put_into(tiles + current, place.thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    share.fetch(a, b, moments, k + BK, place);
    multiply(sums, tiles + current, part);
    current = A_TILE + B_TILE - current;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  threadgroup float* rows = (threadgroup float*)tiles + part.y * TILE + part.x;
  for (uint i = 0; i < 4; ++i) {
    simdgroup_store(sums[i / 2][i % 2], rows + 8 * (i / 2) * TILE + 8 * (i % 2), TILE);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// x times the normal distribution function; kernels/common/gelu.metal explains the polynomials.
static float gelu(float x) {
  const float t = min(abs(x), 13.0f);
  if (t < 1.0f) {
    const float z = x * x;
    float p = fma(fma(z, -7.654047e-6f, 1.1348601e-4f), z, -0.0011863296f);
    p = fma(fma(fma(p, z, 0.009973323f), z, -0.06649036f), z, 0.3989423f);
    return x * fma(x, p, 0.5f);
  }
  const float s = 1.0f / (t + 2.0f);
  float p = fma(fma(fma(s, -32.772636f, 47.99241f), s, -21.902178f), s, 0.20790733f);
  p = fma(fma(fma(fma(p, s, 0.6135685f), s, 1.2048049f), s, 0.7977565f), s, 0.3989417f);
  const float tail = precise::exp(-0.5f * t * t) * (s * p);
  return x * (x < 0.0f ? tail : 1.0f - tail);
}

// Stores the tile that `product` left, through gelu or added to a residual if there is one.
template <bool ACTIVATE>
static void store(device float* to, device const float* residual, uint rows, uint cols,
                  threadgroup const float4* tiles, Place place) {
  threadgroup const float* sums = (threadgroup const float*)tiles;
  for (uint i = place.simdgroup; i < TILE; i += THREADS / 32) {
    const uint row = place.corner.y + i;
    const uint column = place.corner.x + place.lane;
    if (row < rows && column < cols) {
      const float v = sums[i * TILE + place.lane];
      const ulong at = ulong(row) * cols + column;
      to[at] = ACTIVATE ? gelu(v) : residual ? residual[at] + v : v;
    }
  }
}

#define PLACE                                                                                    \
  uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],         \
      uint thread_index [[thread_index_in_threadgroup]],                                         \
      uint simdgroup [[simdgroup_index_in_threadgroup]]

[[kernel]] void project_qkv(device const float* x, device const float* w_qkv, device float* qkv,
                            constant uint& tokens, constant uint& dims, constant float& eps,
                            PLACE) {
  threadgroup float4 tiles[2 * (A_TILE + B_TILE)];
  threadgroup float2 moments[TILE];
  const Place place = {group * TILE, thread_index, lane, simdgroup};
  product(tiles, {x, tokens, dims}, {w_qkv, dims, 3 * dims}, moments, eps, place);
  store<false>(qkv, nullptr, tokens, 3 * dims, tiles, place);
}

[[kernel]] void project_out(device const float* attended, device const float* w_out,
                            device const float* x, device float* mixed, constant uint& tokens,
                            constant uint& dims, PLACE) {
  threadgroup float4 tiles[2 * (A_TILE + B_TILE)];
  const Place place = {group * TILE, thread_index, lane, simdgroup};
  product(tiles, {attended, tokens, dims}, {w_out, dims, dims}, nullptr, 0.0f, place);
  store<false>(mixed, x, tokens, dims, tiles, place);
}

[[kernel]] void project_up(device const float* mixed, device const float* w_up,
                           device float* lifted, constant uint& tokens, constant uint& dims,
                           constant uint& hidden, constant float& eps, PLACE) {
  threadgroup float4 tiles[2 * (A_TILE + B_TILE)];
  threadgroup float2 moments[TILE];
  const Place place = {group * TILE, thread_index, lane, simdgroup};
  product(tiles, {mixed, tokens, dims}, {w_up, dims, hidden}, moments, eps, place);
  store<true>(lifted, nullptr, tokens, hidden, tiles, place);
}

[[kernel]] void project_down(device const float* lifted, device const float* w_down,
                             device const float* mixed, device float* y, constant uint& tokens,
                             constant uint& dims, constant uint& hidden, PLACE) {
  threadgroup float4 tiles[2 * (A_TILE + B_TILE)];
  const Place place = {group * TILE, thread_index, lane, simdgroup};
  product(tiles, {lifted, tokens, hidden}, {w_down, hidden, dims}, nullptr, 0.0f, place);
  store<false>(y, mixed, tokens, dims, tiles, place);
}

// Keys or values of one head, `width` columns of qkv from `column`; zeros past the last row.
static void fill(threadgroup float* tile, Matrix qkv, uint first, uint column, uint width,
                 Place place) {
  for (uint i = place.simdgroup; i < TILE; i += THREADS / 32) {
    const ulong from = ulong(first + i) * qkv.cols + column;
    for (uint c = place.lane; c < width; c += 32) {
      tile[i * HEAD_PITCH + c] = first + i < qkv.rows ? qkv.data[from + c] : 0.0f;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

[[kernel]] void attend(device const float* qkv, device float* attended, constant uint& tokens,
                       constant uint& dims, constant uint& heads, PLACE) {
  threadgroup float tile[TILE * HEAD_PITCH];
  threadgroup float4 queries[THREADS / 32][128];
  threadgroup float4 weights[THREADS / 32][TILE];
  const Place place = {group, thread_index, lane, simdgroup};
  const Matrix all = {qkv, tokens, 3 * dims};
  const uint width = dims / heads;
  const uint column = group.y * width;
  const uint first_query = (group.x * (THREADS / 32) + simdgroup) * QUERIES;
  for (uint c = lane; c < width; c += 32) {
    for (uint r = 0; r < QUERIES; ++r) {
      const ulong row = min(first_query + r, tokens - 1);
      queries[simdgroup][c][r] = qkv[row * all.cols + column + c] * precise::rsqrt(float(width));
    }
  }
  float4 peak = -INFINITY, sum = 0.0f;
  float4 out[4] = {};
  for (uint first = 0; first < tokens; first += TILE) {
    fill(tile, all, first, dims + column, width, place);
    float4 score = 0.0f;
    for (uint c = 0; c < width; ++c) {
      score += queries[simdgroup][c] * tile[lane * HEAD_PITCH + c];
    }
    score = first + lane < tokens ? score : float4(-INFINITY);
    float4 higher;
    for (uint r = 0; r < QUERIES; ++r) {
      higher[r] = max(peak[r], simd_max(score[r]));
    }
    const float4 weight = exp(score - higher);
    const float4 shrink = exp(peak - higher);
    weights[simdgroup][lane] = weight;
    for (uint r = 0; r < QUERIES; ++r) {
      sum[r] = sum[r] * shrink[r] + simd_sum(weight[r]);
    }
    peak = higher;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    fill(tile, all, first, 2 * dims + column, width, place);
    for (uint i = 0; i < 4; ++i) {
      out[i] *= shrink;
      for (uint key = 0; key < TILE && lane + 32 * i < width; ++key) {
        out[i] += weights[simdgroup][key] * tile[key * HEAD_PITCH + lane + 32 * i];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (uint i = 0; i < 4; ++i) {
    const float4 result = out[i] / sum;
    for (uint r = 0; r < QUERIES; ++r) {
      if (first_query + r < tokens && lane + 32 * i < width) {
        attended[ulong(first_query + r) * dims + column + lane + 32 * i] = result[r];
      }
    }
  }
}
