// Attention, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves the
// threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8 x 8
// matrices. The threadgroup walks through the keys in blocks of 32, which pass through one tile of
// threadgroup memory, first K, then V. Softmax is online: when the maximum of a row rises, its
// output so far is scaled by a multiplication with a diagonal matrix, which needs no knowledge of
// how a matrix lies in registers. Four lanes share a row of scores, so its maximum and sum take two
// shuffles each. Keys past the end score -inf, queries past the end are zeros and are not stored.
// dispatch: scaled_dot_product  threadgroups=(ceil_div(queries, 8 * SIMDGROUPS))  threads=(32 * SIMDGROUPS)
// tune: SIMDGROUPS = 4, 1, 2
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 32 * SIMDGROUPS;
constant constexpr uint KEYS = 32;
constant constexpr uint MAX_DIMS = 128;
// 8 x 8 matrices in a row of Q, K, V and the output.
constant constexpr uint MAX_BLOCKS = MAX_DIMS / 8;
// Rows in threadgroup memory, padded so that the rows of a matrix load lie in different banks.
constant constexpr uint PITCH = MAX_DIMS + 4;
constant constexpr uint SCORE_PITCH = KEYS + 4;

// Rows first.. of a matrix of `rows` rows, zeros past its end. dims is a multiple of four.
static void fill(threadgroup float4* tile, device const float* from, uint first, uint rows,
                 uint dims, uint thread_index) {
  const uint quads = dims / 4;
  device const float4* block = (device const float4*)from + ulong(first) * quads;
  for (uint index = thread_index; index < KEYS * quads; index += THREADS) {
    const uint row = index / quads;
    tile[row * (PITCH / 4) + index % quads] = first + row < rows ? block[index] : float4(0.0f);
  }
}

// The eight scores of a lane become weights relative to the new maximum. Row lane / 4 of the
// SIMD-group's scores; `correction` is its element of the diagonal that rescales earlier blocks.
struct Softmax {
  float peak;
  float sum;

  void update(threadgroup float4* scores, threadgroup float* correction, float scale, uint left,
              uint lane) {
    const uint first = 8 * (lane % 4);
    threadgroup float4* mine = scores + lane / 4 * (SCORE_PITCH / 4) + first / 4;
    const uint4 key = first + uint4(0, 1, 2, 3);
    const float4 a = select(float4(-INFINITY), mine[0], key < left);
    const float4 b = select(float4(-INFINITY), mine[1], key + 4 < left);
    const float4 larger = max(a, b);
    float higher = max(max(larger.x, larger.y), max(larger.z, larger.w));
    higher = max(higher, simd_shuffle_xor(higher, 1));
    higher = max(peak, max(higher, simd_shuffle_xor(higher, 2)));
    // Scaling the difference keeps large scores from losing digits to one more rounding.
    const float4 p = exp2((a - higher) * scale);
    const float4 q = exp2((b - higher) * scale);
    mine[0] = p;
    mine[1] = q;
    const float4 both = p + q;
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = exp2((peak - higher) * scale);
    if (lane % 4 == 0) {
      *correction = shrink;
    }
    sum = sum * shrink + added;
    peak = higher;
  }
};

// out = diagonal * out, row by row.
static void rescale(thread simdgroup_float8x8 (&out)[MAX_BLOCKS], threadgroup const float* diagonal,
                    uint blocks) {
  simdgroup_float8x8 factor;
  simdgroup_load(factor, diagonal, 8);
  for (uint j = 0; j < MAX_BLOCKS; ++j) {
    if (j < blocks) {
      const simdgroup_float8x8 old = out[j];
      simdgroup_multiply(out[j], factor, old);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(THREADS)]] void scaled_dot_product(
    device const float* q, device const float* k, device const float* v, device float* y,
    constant uint& queries, constant uint& keys, constant uint& dims,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 tile[KEYS * PITCH / 4];
  threadgroup float4 scores[SIMDGROUPS][8 * SCORE_PITCH / 4];
  threadgroup float diagonals[SIMDGROUPS][64];
  threadgroup float* tile_rows = (threadgroup float*)tile;
  threadgroup float* own_rows = tile_rows + 8 * simdgroup * PITCH;
  threadgroup float* own_scores = (threadgroup float*)scores[simdgroup];
  threadgroup float* diagonal = diagonals[simdgroup];
  threadgroup float* correction = diagonal + lane / 4 * 9;
  const uint blocks = dims / 8;
  const uint first_query = group * 8 * SIMDGROUPS;

  fill(tile, q, first_query, queries, dims, thread_index);
  diagonal[lane] = 0.0f;
  diagonal[lane + 32] = 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_float8x8 query[MAX_BLOCKS];
  simdgroup_float8x8 out[MAX_BLOCKS];
  for (uint j = 0; j < MAX_BLOCKS; ++j) {
    out[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    if (j < blocks) {
      simdgroup_load(query[j], own_rows + 8 * j, PITCH);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  // Exponentials to base two: log2(e) is part of the scale.
  const float scale = 1.44269504f * precise::rsqrt(float(dims));
  Softmax softmax = {-INFINITY, 0.0f};
  for (uint first = 0; first < keys; first += KEYS) {
    fill(tile, k, first, keys, dims, thread_index);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = 0; c < KEYS; c += 8) {
      simdgroup_float8x8 score = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      for (uint j = 0; j < MAX_BLOCKS; ++j) {
        if (j < blocks) {
          simdgroup_float8x8 key;
          simdgroup_load(key, tile_rows + c * PITCH + 8 * j, PITCH, ulong2(0), true);
          simdgroup_multiply_accumulate(score, query[j], key, score);
        }
      }
      simdgroup_store(score, own_scores + c, SCORE_PITCH);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    fill(tile, v, first, keys, dims, thread_index);
    softmax.update(scores[simdgroup], correction, scale, keys - first, lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    rescale(out, diagonal, blocks);
    for (uint c = 0; c < KEYS; c += 8) {
      simdgroup_float8x8 weight;
      simdgroup_load(weight, own_scores + c, SCORE_PITCH);
      for (uint j = 0; j < MAX_BLOCKS; ++j) {
        if (j < blocks) {
          simdgroup_float8x8 value;
          simdgroup_load(value, tile_rows + c * PITCH + 8 * j, PITCH);
          simdgroup_multiply_accumulate(out[j], weight, value, out[j]);
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  if (lane % 4 == 0) {
    *correction = 1.0f / softmax.sum;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  rescale(out, diagonal, blocks);
  for (uint j = 0; j < MAX_BLOCKS; ++j) {
    if (j < blocks) {
      simdgroup_store(out[j], own_rows + 8 * j, PITCH);
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  const uint quads = dims / 4;
  for (uint index = lane; index < 8 * quads; index += 32) {
    const uint row = 8 * simdgroup + index / quads;
    if (first_query + row < queries) {
      ((device float4*)y)[ulong(first_query + row) * quads + index % quads] =
          tile[row * (PITCH / 4) + index % quads];
    }
  }
}
