// The dispatches of language models, from token numbers to logits: entry points that a kernel
// instantiates by name, and whose arguments its `// dispatch:` lines bind. Matrices are
// (all_tokens, width), with a row for each token of all sequences.
//   embed, embed_typed, embed_axial   the sum of a token's embeddings
//                    threads_in_grid=(ceil_div(dims, 4), all_tokens)  threads=(32, 1)
//   row_moments      mean and scale of each row, for the `normed_` products that follow
//   norm             norms of rows, stored
//                    threadgroups=(ceil_div(all_tokens, NORMS))  threads=(32 * NORMS)
//   dense            linear layers, also with a norm before (`normed_`), with an array that is
//                    added (`_added`, `_onto`), and without a bias (`_unbiased`)
//                    threadgroups=(ceil_div(features, BN), ceil_div(all_tokens, BM))
//                    threads=(128)
//   project          queries, keys and values of three weights, with the same endings; of two in
//                    normed_project_shared
//                    threadgroups=(3 * ceil_div(features, BN), ceil_div(all_tokens, BM))
//                    threads=(128)
//   attend           all heads of all sequences: also with a window (`_window`), of blocks
//                    (`_blocks`), and with queries that are keys (`_shared`, behind key_scales)
//                    threadgroups=(ceil_div(tokens, 8 * SG), heads, batch)
//                    threads=(32 * SG * SPLITS)
//   join_halves      two matrices side by side
// Models with norms before each block (GPT-2) keep their tokens in one array, to which blocks add
// with `dense_onto`. Those with norms behind (BERT) store the sum and its norm. Macros are the
// tile, BM x BN x BK, NORMS rows of a norm's threadgroup, and attention's SG, SPLITS and AHEAD.
#pragma once
#include "metalbench/activations.h"
#include "metalbench/layer_norms.h"
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"
#include "metalbench/sights.h"

#ifndef BM
#define BM 32
#define BN 32
#define BK 16
#endif
#ifndef NORMS
#define NORMS 4
#endif
#ifndef SG
#define SG 2
#endif
#ifndef SPLITS
#define SPLITS 1
#endif
#ifndef AHEAD
#define AHEAD 0
#endif

namespace metalbench {

// Weights of linear layers: a row for each feature, as PyTorch's Linear has them; or a row for each
// input, as in GPT-2.
struct ByFeature {
  using Source = MatrixRows<float>;
  static Source of(device const float* weight, uint width, uint features) {
    return {weight, features, width};
  }
};
struct ByInput {
  using Source = MatrixColumns<float>;
  static Source of(device const float* weight, uint width, uint features) {
    return {weight, width, features, features};
  }
};

// The eps of norms.
struct EpsOfTorch {
  static constant constexpr float value = 1e-5f;
};
struct EpsOfBert {
  static constant constexpr float value = 1e-12f;
};
struct EpsOfKeys {
  static constant constexpr float value = 1e-6f;
};

// Which of several products side by side, of `features` columns each, a tile belongs to, and which
// tile of that it is.
struct Part {
  uint number;
  uint2 tile;
  static Part of(uint2 tile, uint features) {
    const uint tiles = (features + BN - 1) / BN;
    return {tile.x / tiles, uint2(tile.x % tiles, tile.y)};
  }
  device const float* choose(device const float* q, device const float* k,
                             device const float* v) const {
    return number == 0 ? q : number == 1 ? k : v;
  }
  // Its columns of a matrix that has `count` parts.
  template <typename Map>
  StoreSlice<float, Map> slice(device float* to, uint rows, uint features, uint count,
                               Map map) const {
    return {to + ulong(number) * features, rows, features, count * features, map};
  }
};

template <typename Tile, typename Rows, typename Weights, typename Epilogue>
INLINED void store_product(Rows rows, Weights weights, uint depth, Epilogue epilogue, uint2 tile,
                           threadgroup float4* memory, Place place) {
  Tile product(tile * uint2(BN, BM), memory, place);
  product.multiply(rows, weights, depth);
  product.store(epilogue);
}

template <typename Rows, typename Weights>
using DenseTile = Product<Rows, typename Weights::Source, BM, BN, BK>;

// Attention of SG times eight queries, with a Sight (attention_rows.h).
template <uint MaxDims, typename Sight>
using TokenAttention = SightedAttention<float, SG, MaxDims, Sight, MaxDims, SPLITS, AHEAD>;

// BigBird's blocks of keys that a block of queries sees, as rows behind each other: the first, the
// block itself with its neighbours, and the last. The first and the last block of queries see all,
// and so do all blocks of a sequence that has at most `most` of them.
struct SeenBlocks {
  bool is_sparse;
  uint rows;
  uint block;
  uint near_shift;  // from a row of what is seen to the key, behind the first block
  uint far;         // where the last block begins
  uint far_shift;

  static SeenBlocks of(uint own, uint block, uint tokens, uint most) {
    const uint count = (tokens + block - 1) / block;
    if (tokens <= most * block || own == 0 || own + 1 == count) {
      return {false, tokens, block, 0, tokens, 0};
    }
    const uint low = max(own - 1, 1u), high = min(own + 1, count - 2);
    const uint last = (count - 1) * block, far = (high - low + 2) * block;
    return {true, far + tokens - last, block, (low - 1) * block, far, last - far};
  }
  uint key(uint row) const {
    return row < block ? row : row < far ? row + near_shift : row + far_shift;
  }
};

// A source of quads (attention.h): the rows of the keys that are seen.
struct BlockRows {
  device const float* data;
  uint pitch;
  uint cols;
  uint rows;
  SeenBlocks seen;
  float4 quad(uint row, uint column) const {
    return load_quad(data + ulong(seen.key(row)) * pitch, column, cols);
  }
};

// A Sight (attention_rows.h): all that is seen; scores of the first block have a bonus.
struct FirstBlockSight {
  uint block;
  float bonus;
  uint first(uint) const { return 0; }
  uint end(uint, uint keys) const { return keys; }
  float4 scores(float4 raw, uint, uint key) const {
    return select(raw, raw + bonus, key + uint4(0, 1, 2, 3) < block);
  }
};

// The score of a token with itself where queries are keys: it counts only for a token that sees
// nothing else.
constant constexpr float kSelfScore = -1e5f;

// A Sight: causal, with a factor for each key, and one score for a token with itself.
struct SharedSight {
  device const float* scales;
  uint tokens;
  float self_score;
  uint first(uint) const { return 0; }
  uint end(uint query, uint keys) const { return min(keys, query + 1); }
  float4 scores(float4 raw, uint query, uint key) const {
    return select(raw * load_quad(scales, key, tokens), float4(self_score),
                  key + uint4(0, 1, 2, 3) == query);
  }
};

// Four columns of a token's embedding.
inline float4 token_quad(device const uint* x, device const float* table, uint row, uint column,
                         uint dims) {
  return load_quad(table + ulong(x[row]) * dims, column, dims);
}

}  // namespace metalbench

// Entry points have no namespace: `// dispatch:` lines name them.
using namespace metal;
using namespace metalbench;

// Embeddings. Position p of a sequence has row First + p of `places`.

template <uint First>
[[kernel]] void embed(device const uint* x, device const float* table, device const float* places,
                      device float* to, constant uint& tokens, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const uint row = at.y, column = 4 * at.x;
  const float4 v = token_quad(x, table, row, column, dims) +
                   load_quad(places + ulong(First + row % tokens) * dims, column, dims);
  store_quad(to + ulong(row) * dims, column, dims, v);
}

// The same, and the embedding of the first type of token.
template <uint First>
[[kernel]] void embed_typed(device const uint* x, device const float* table,
                            device const float* places, device const float* types, device float* to,
                            constant uint& tokens, constant uint& dims,
                            uint2 at [[thread_position_in_grid]]) {
  const uint row = at.y, column = 4 * at.x;
  const float4 v = token_quad(x, table, row, column, dims) +
                   load_quad(places + ulong(First + row % tokens) * dims, column, dims) +
                   load_quad(types, column, dims);
  store_quad(to + ulong(row) * dims, column, dims, v);
}

// Positions are a grid, of which sequences fill the first line: the first dims / Share columns are
// those of the line, the others those of the place within it. The sum is stored twice, for both
// halves of reversible layers.
template <uint Share>
[[kernel]] void embed_axial(device const uint* x, device const float* table,
                            device const float* lines, device const float* places, device float* to,
                            device float* twin, constant uint& tokens, constant uint& dims,
                            uint2 at [[thread_position_in_grid]]) {
  const uint row = at.y, column = 4 * at.x;
  const uint first = dims / Share, others = dims - first;
  device const float* own = places + ulong(row % tokens) * others;
  float4 v = token_quad(x, table, row, column, dims);
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (column + i < dims) {
      v[i] += column + i < first ? lines[column + i] : own[column + i - first];
    }
  }
  store_quad(to + ulong(row) * dims, column, dims, v);
  store_quad(twin + ulong(row) * dims, column, dims, v);
}

// Norms.

template <typename Eps>
[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void row_moments(
    device const float* from, device float* moments, constant uint& all_tokens,
    constant uint& width, uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < all_tokens) {
    store_row_moments(from, moments, row, width, Eps::value, memory, lane);
  }
}

template <typename Eps>
[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void norm(
    device const float* from, device const float* weight, device const float* bias,
    device float* to, constant uint& all_tokens, constant uint& width,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < all_tokens) {
    store_norm_row(from, weight, bias, to, row, width, Eps::value, memory, lane);
  }
}

// Two matrices side by side: both halves of reversible layers.
template <typename T>
[[kernel]] void join_halves(device const T* first, device const T* second, device T* to,
                            constant uint& width, uint2 at [[thread_position_in_grid]]) {
  const uint column = 4 * at.x;
  const ulong row = at.y;
  device T* line = to + row * 2 * width;
  store_quad(line, column, width, load_quad(first + row * width, column, width));
  store_quad(line + width, column, width, load_quad(second + row * width, column, width));
}

// Linear layers. `weight` is what Weights says; rows of `from` have `width` elements.

#define DENSE_NUMBERS                                                       \
  constant uint &all_tokens, constant uint &width, constant uint &features, \
      uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS
#define NORMED_ARGUMENTS                                                                  \
  device const float *from, device const float *moments, device const float *norm_weight, \
      device const float *norm_bias
#define DENSE_KERNEL [[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void

// to = F(from W + bias)
template <typename Weights, typename F>
DENSE_KERNEL dense(device const float* from, device const float* weight, device const float* bias,
                   device float* to, DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Store<float, BiasedThen<float, F>> store = {
      to, all_tokens, features, {{bias, features}, {}}};
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(weight, width, features), width, store, tile, memory, PLACE);
}

// to = from W + bias + residual
template <typename Weights>
DENSE_KERNEL dense_added(device const float* from, device const float* weight,
                         device const float* bias, device const float* residual, device float* to,
                         DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Store<float, MapThen<Biased<float>, Added<float>>> store = {
      to, all_tokens, features, {{bias, features}, {residual, features}}};
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(weight, width, features), width, store, tile, memory, PLACE);
}

// to += from W + bias
template <typename Weights>
DENSE_KERNEL dense_onto(device const float* from, device const float* weight,
                        device const float* bias, device float* to, DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Store<float, MapThen<Biased<float>, Added<float>>> store = {
      to, all_tokens, features, {{bias, features}, {to, features}}};
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(weight, width, features), width, store, tile, memory, PLACE);
}

// to += from W
template <typename Weights>
DENSE_KERNEL dense_onto_unbiased(device const float* from, device const float* weight,
                                 device float* to, DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Store<float, Added<float>> store = {to, all_tokens, features, {to, features}};
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(weight, width, features), width, store, tile, memory, PLACE);
}

// to = from W
template <typename Weights>
DENSE_KERNEL dense_unbiased(device const float* from, device const float* weight, device float* to,
                            DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(weight, width, features), width,
                      Store<float>{to, all_tokens, features, {}}, tile, memory, PLACE);
}

// to = F(norm(from) W + bias)
template <typename Weights, typename F>
DENSE_KERNEL normed_dense(NORMED_ARGUMENTS, device const float* weight, device const float* bias,
                          device float* to, DENSE_NUMBERS) {
  using Tile = DenseTile<StandardRows, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Store<float, BiasedThen<float, F>> store = {
      to, all_tokens, features, {{bias, features}, {}}};
  store_product<Tile>(StandardRows{from, moments, norm_weight, norm_bias, all_tokens, width},
                      Weights::of(weight, width, features), width, store, tile, memory, PLACE);
}

// to = norm(from) W
template <typename Weights>
DENSE_KERNEL normed_dense_unbiased(NORMED_ARGUMENTS, device const float* weight, device float* to,
                                   DENSE_NUMBERS) {
  using Tile = DenseTile<StandardRows, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  store_product<Tile>(StandardRows{from, moments, norm_weight, norm_bias, all_tokens, width},
                      Weights::of(weight, width, features), width,
                      Store<float>{to, all_tokens, features, {}}, tile, memory, PLACE);
}

// Queries, keys and values of three weights, stored as one matrix (rows, 3 * features).

#define QKV_WEIGHTS \
  device const float *q_weight, device const float *k_weight, device const float *v_weight
#define QKV_BIASES \
  device const float *q_bias, device const float *k_bias, device const float *v_bias

template <typename Weights>
DENSE_KERNEL project(device const float* from, QKV_WEIGHTS, QKV_BIASES, device float* qkv,
                     DENSE_NUMBERS) {
  using Tile = DenseTile<MatrixRows<float>, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Part part = Part::of(tile, features);
  const StoreSlice<float, Biased<float>> store = part.template slice<Biased<float>>(
      qkv, all_tokens, features, 3, {part.choose(q_bias, k_bias, v_bias), features});
  store_product<Tile>(MatrixRows<float>{from, all_tokens, width},
                      Weights::of(part.choose(q_weight, k_weight, v_weight), width, features),
                      width, store, part.tile, memory, PLACE);
}

template <typename Weights>
DENSE_KERNEL normed_project(NORMED_ARGUMENTS, QKV_WEIGHTS, QKV_BIASES, device float* qkv,
                            DENSE_NUMBERS) {
  using Tile = DenseTile<StandardRows, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Part part = Part::of(tile, features);
  const StoreSlice<float, Biased<float>> store = part.template slice<Biased<float>>(
      qkv, all_tokens, features, 3, {part.choose(q_bias, k_bias, v_bias), features});
  store_product<Tile>(StandardRows{from, moments, norm_weight, norm_bias, all_tokens, width},
                      Weights::of(part.choose(q_weight, k_weight, v_weight), width, features),
                      width, store, part.tile, memory, PLACE);
}

template <typename Weights>
DENSE_KERNEL normed_project_unbiased(NORMED_ARGUMENTS, QKV_WEIGHTS, device float* qkv,
                                     DENSE_NUMBERS) {
  using Tile = DenseTile<StandardRows, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Part part = Part::of(tile, features);
  store_product<Tile>(StandardRows{from, moments, norm_weight, norm_bias, all_tokens, width},
                      Weights::of(part.choose(q_weight, k_weight, v_weight), width, features),
                      width, part.template slice<AsItIs>(qkv, all_tokens, features, 3, {}),
                      part.tile, memory, PLACE);
}

// Where queries are keys: (rows, 2 * features).
template <typename Weights>
DENSE_KERNEL normed_project_shared(NORMED_ARGUMENTS, device const float* qk_weight,
                                   device const float* v_weight, device float* qkv, DENSE_NUMBERS) {
  using Tile = DenseTile<StandardRows, Weights>;
  threadgroup float4 memory[Tile::kMemory];
  const Part part = Part::of(tile, features);
  store_product<Tile>(StandardRows{from, moments, norm_weight, norm_bias, all_tokens, width},
                      Weights::of(part.number == 0 ? qk_weight : v_weight, width, features), width,
                      part.template slice<AsItIs>(qkv, all_tokens, features, 2, {}), part.tile,
                      memory, PLACE);
}

// Attention of heads with up to MaxDims dims; `dims` are those of all heads.

#define ATTENTION_KERNEL [[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void
#define ATTENTION_NUMBERS                                           \
  constant uint &tokens, constant uint &dims, constant uint &heads, \
      uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS

// Tokens see all tokens or, with Causal, those up to themselves.
template <uint MaxDims, bool Causal>
ATTENTION_KERNEL attend(device const float* qkv, device float* attended, ATTENTION_NUMBERS) {
  using Flash = TokenAttention<MaxDims, Seen<Causal>>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup typename Flash::Memory memory;
  attend_merged<Flash>(memory, MergedHead::of(qkv, attended, tokens, dims, heads, group),
                       dims / heads, group.x, PLACE);
}

// Tokens see the last `window` up to themselves; scores are not scaled.
template <uint MaxDims>
ATTENTION_KERNEL attend_window(device const float* qkv, device float* attended,
                               constant uint& window, ATTENTION_NUMBERS) {
  using Flash = TokenAttention<MaxDims, WindowSight>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup typename Flash::Memory memory;
  const MergedHead head = MergedHead::of(qkv, attended, tokens, dims, heads, group);
  const Flash attention(memory, dims / heads, group.x, PLACE, {window}, 0, 1);
  attention.attend(head.q, head.k, head.v, head.y);
}

// Attention of blocks (Zaheer and others, "Big Bird", arXiv 2007.14062), in which sequences with
// more than 5 + 2 Random blocks have it. A threadgroup's queries are in one block; grid:
//   threadgroups=(ceil_div(block, 8 * SG) * ceil_div(tokens, block), heads, batch)
template <uint MaxDims, uint Random>
ATTENTION_KERNEL attend_blocks(device const float* qkv, device float* attended,
                               constant uint& block, ATTENTION_NUMBERS) {
  using Flash = TokenAttention<MaxDims, FirstBlockSight>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup typename Flash::Memory memory;
  const uint shares = (block + 8 * SG - 1) / (8 * SG);
  const uint own = group.x / shares;
  const MergedHead head = MergedHead::of(qkv, attended, tokens, dims, heads, group);
  const SeenBlocks seen = SeenBlocks::of(own, block, tokens, 5 + 2 * Random);
  const float bonus = seen.is_sparse ? precise::log(1.0f + Random) : 0.0f;
  const FirstBlockSight sight = {block, bonus * precise::sqrt(float(dims / heads))};
  const Flash attention(memory, dims / heads, group.x - own * shares, PLACE, sight);
  const uint first = own * block;
  const uint queries = min(block, tokens - first);
  const uint width = dims / heads;
  attention.attend(
      Head<const float>{head.q.data + ulong(first) * head.q.pitch, queries, head.q.pitch},
      BlockRows{head.k.data, head.k.pitch, width, seen.rows, seen},
      BlockRows{head.v.data, head.v.pitch, width, seen.rows, seen},
      Head<float>{head.y.data + ulong(first) * head.y.pitch, queries, head.y.pitch});
}

// Where queries are keys, keys have a norm: the factors of their scores, 1 / sqrt(mean of squares +
// eps), into `scales` (batch, heads, tokens). `qkv` is (all_tokens, 2 * dims).
//   threadgroups=(tokens, batch)  threads=(32 * heads)
template <typename Eps>
[[kernel]] void key_scales(device const float* qkv, device float* scales, constant uint& tokens,
                           constant uint& dims, constant uint& heads,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint head [[simdgroup_index_in_threadgroup]]) {
  const uint width = dims / heads;
  device const float* key = qkv + (ulong(group.y) * tokens + group.x) * 2 * dims + head * width;
  float sum = 0.0f;
  for (uint column = lane; column < width; column += 32) {
    sum = fma(key[column], key[column], sum);
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    scales[(ulong(group.y) * heads + head) * tokens + group.x] =
        precise::rsqrt(sum / float(width) + Eps::value);
  }
}

template <uint MaxDims>
ATTENTION_KERNEL attend_shared(device const float* qkv, device const float* scales,
                               device float* attended, ATTENTION_NUMBERS) {
  using Flash = TokenAttention<MaxDims, SharedSight>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup typename Flash::Memory memory;
  const uint width = dims / heads;
  const ulong row = ulong(group.z) * tokens;
  device const float* first = qkv + row * 2 * dims + width * group.y;
  const Head<const float> queries = {first, tokens, 2 * dims};
  const Head<const float> values = {first + dims, tokens, 2 * dims};
  const SharedSight sight = {scales + (ulong(group.z) * heads + group.y) * tokens, tokens,
                             kSelfScore * precise::sqrt(float(width))};
  const Flash attention(memory, width, group.x, PLACE, sight);
  attention.attend(queries, queries, values,
                   Head<float>{attended + row * dims + width * group.y, tokens, dims});
}
