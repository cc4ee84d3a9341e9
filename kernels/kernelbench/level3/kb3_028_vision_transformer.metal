// A vision transformer whose attention is over the images of a batch. The patches are read from the image
// by the product that embeds them, which adds class token and positions as it stores tokens, those of all
// images side by side. A layer is seven dispatches (metalbench/encoder_dispatches.h); the head's two
// layers have a SIMD-group for each number (metalbench/dense.h).
// let: across = side / 16
// let: sequences = across * across + 1
// let: sequence_tokens = batch
// let: rows = sequences * batch
// let: width = dims
// dispatch: embed  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear(from = tokens, weight = transformer_layers_0_self_attn_in_proj_weight, bias = transformer_layers_0_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_0_self_attn_out_proj_weight, bias = transformer_layers_0_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_0_norm1_weight, bias = transformer_layers_0_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_0_linear1_weight, bias = transformer_layers_0_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_0_linear2_weight, bias = transformer_layers_0_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_0_norm2_weight, bias = transformer_layers_0_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_1_self_attn_in_proj_weight, bias = transformer_layers_1_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_1_self_attn_out_proj_weight, bias = transformer_layers_1_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_1_norm1_weight, bias = transformer_layers_1_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_1_linear1_weight, bias = transformer_layers_1_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_1_linear2_weight, bias = transformer_layers_1_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_1_norm2_weight, bias = transformer_layers_1_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_2_self_attn_in_proj_weight, bias = transformer_layers_2_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_2_self_attn_out_proj_weight, bias = transformer_layers_2_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_2_norm1_weight, bias = transformer_layers_2_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_2_linear1_weight, bias = transformer_layers_2_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_2_linear2_weight, bias = transformer_layers_2_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_2_norm2_weight, bias = transformer_layers_2_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_3_self_attn_in_proj_weight, bias = transformer_layers_3_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_3_self_attn_out_proj_weight, bias = transformer_layers_3_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_3_norm1_weight, bias = transformer_layers_3_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_3_linear1_weight, bias = transformer_layers_3_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_3_linear2_weight, bias = transformer_layers_3_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_3_norm2_weight, bias = transformer_layers_3_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_4_self_attn_in_proj_weight, bias = transformer_layers_4_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_4_self_attn_out_proj_weight, bias = transformer_layers_4_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_4_norm1_weight, bias = transformer_layers_4_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_4_linear1_weight, bias = transformer_layers_4_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_4_linear2_weight, bias = transformer_layers_4_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_4_norm2_weight, bias = transformer_layers_4_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_5_self_attn_in_proj_weight, bias = transformer_layers_5_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(256)
// dispatch: linear_added(from = attended, weight = transformer_layers_5_self_attn_out_proj_weight, bias = transformer_layers_5_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_5_norm1_weight, bias = transformer_layers_5_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_5_linear1_weight, bias = transformer_layers_5_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_5_linear2_weight, bias = transformer_layers_5_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_5_norm2_weight, bias = transformer_layers_5_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: raise  threadgroups=(inner, batch)  threads=(32)
// dispatch: answer  threadgroups=(classes, batch)  threads=(32)
// scratch: tokens float32 (rows, dims)
// scratch: between float32 (rows, dims)
// scratch: mixed float32 (rows, dims)
// scratch: attended float32 (rows, dims)
// scratch: qkv float32 (rows, 3 * dims)
// scratch: lifted float32 (rows, inner)
// scratch: raised float32 (batch, inner)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: NORMS = 4, 1
// defaults: cpu BUFFERS = 2, NORMS = 1
// defaults: cuda BUFFERS = 2
// limits: side % 16 == 0, dims % 8 == 0, dims <= 1024
#define HEADS 8
#include "metalbench/dense.h"
#include "metalbench/encoder_dispatches.h"

// A source (tile_sources.h): a row of three tiles of 16 x 16 pixels of one channel for each token and
// image. Tiles are numbered by channel first, so that a token may have tiles of two channels. The class
// token, the first, has none.
struct TokenPatches {
  using element = float;
  struct Line {
    device const float* tiles[3];
  };
  static constant constexpr bool kAlongDepth = true;
  device const float* img;
  uint batch;
  uint side;
  uint rows;

  INLINED Line line(uint row) const {
    if (row < batch || row >= rows) {
      return {{nullptr, nullptr, nullptr}};
    }
    const uint token = row / batch - 1, across = side / 16;
    device const float* image = img + ulong(row % batch) * side * side * 3;
    Line found;
    UNROLLED
    for (uint i = 0; i < 3; ++i) {
      const uint tile = (3 * token + i) % (across * across);
      const uint channel = (3 * token + i) / (across * across);
      found.tiles[i] = image + (tile / across * 16 * side + tile % across * 16) * 3 + channel;
    }
    return found;
  }

  INLINED float4 quad(thread const Line& row, uint k) const {
    if (!row.tiles[0] || k >= 768) {
      return float4(0.0f);
    }
    device const float* tile = k < 256 ? row.tiles[0] : k < 512 ? row.tiles[1] : row.tiles[2];
    device const float* at = tile + (k % 256 / 16 * side + k % 16) * 3;
    return float4(at[0], at[3], at[6], at[9]);
  }
};

// A map (epilogues.h): the bias, or for the first token of every image its embedding, and the position.
struct Embedded {
  device const float* bias;
  device const float* first;
  device const float* places;
  uint batch;
  uint dims;
  float4 operator()(float4 v, uint row, uint column) const {
    return v + load_quad(row < batch ? first : bias, column, dims) +
           load_quad(places + ulong(row / batch) * dims, column, dims);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void embed(
    device const float* img, device const float* patch_to_embedding_weight,
    device const float* patch_to_embedding_bias, device const float* cls_token,
    device const float* pos_embedding, device float* tokens, constant uint& batch,
    constant uint& side, constant uint& rows, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<TokenPatches, MatrixRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({img, batch, side, rows}, {patch_to_embedding_weight, dims, 768}, 768);
  product.store(Store<float, Embedded>{
      tokens, rows, dims, {patch_to_embedding_bias, cls_token, pos_embedding, batch, dims}});
}

[[kernel]] void raise(device const float* tokens, device const float* mlp_head_0_weight,
                      device const float* mlp_head_0_bias, device float* raised,
                      constant uint& dims, constant uint& inner,
                      uint2 place [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
  const float sum = dense_feature(tokens + place.y * dims,
                                  mlp_head_0_weight + ulong(place.x) * dims, dims, lane);
  if (lane == 0) {
    raised[place.y * inner + place.x] = Gelu()(sum + mlp_head_0_bias[place.x]);
  }
}

[[kernel]] void answer(device const float* raised, device const float* mlp_head_3_weight,
                       device const float* mlp_head_3_bias, device float* y, constant uint& inner,
                       constant uint& classes, uint2 place [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float sum = dense_feature(raised + place.y * inner,
                                  mlp_head_3_weight + ulong(place.x) * inner, inner, lane);
  if (lane == 0) {
    y[place.y * classes + place.x] = sum + mlp_head_3_bias[place.x];
  }
}
