// A transformer over two tokens: one for the class, one for all patches. A convolution whose steps are as
// long as its taps is a product of patches; its flattened result becomes a token by a SIMD-group for each
// number (metalbench/dense.h), as the batch is small. A layer is seven dispatches
// (metalbench/encoder_dispatches.h), of small tiles, since rows are few.
// let: sequences = batch
// let: sequence_tokens = 2
// let: rows = 2 * batch
// let: width = dims
// dispatch: convolve  threadgroups=(ceil_div(dims, BN), ceil_div(64 * batch, BM))  threads=(128)
// dispatch: embed  threadgroups=(dims, 2, batch)  threads=(32)
// dispatch: linear(from = tokens, weight = transformer_layers_0_self_attn_in_proj_weight, bias = transformer_layers_0_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_0_self_attn_out_proj_weight, bias = transformer_layers_0_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_0_norm1_weight, bias = transformer_layers_0_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_0_linear1_weight, bias = transformer_layers_0_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_0_linear2_weight, bias = transformer_layers_0_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_0_norm2_weight, bias = transformer_layers_0_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_1_self_attn_in_proj_weight, bias = transformer_layers_1_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_1_self_attn_out_proj_weight, bias = transformer_layers_1_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_1_norm1_weight, bias = transformer_layers_1_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_1_linear1_weight, bias = transformer_layers_1_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_1_linear2_weight, bias = transformer_layers_1_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_1_norm2_weight, bias = transformer_layers_1_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_2_self_attn_in_proj_weight, bias = transformer_layers_2_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_2_self_attn_out_proj_weight, bias = transformer_layers_2_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_2_norm1_weight, bias = transformer_layers_2_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_2_linear1_weight, bias = transformer_layers_2_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_2_linear2_weight, bias = transformer_layers_2_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_2_norm2_weight, bias = transformer_layers_2_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_3_self_attn_in_proj_weight, bias = transformer_layers_3_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_3_self_attn_out_proj_weight, bias = transformer_layers_3_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_3_norm1_weight, bias = transformer_layers_3_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_3_linear1_weight, bias = transformer_layers_3_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_3_linear2_weight, bias = transformer_layers_3_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_3_norm2_weight, bias = transformer_layers_3_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_4_self_attn_in_proj_weight, bias = transformer_layers_4_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_4_self_attn_out_proj_weight, bias = transformer_layers_4_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_4_norm1_weight, bias = transformer_layers_4_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_4_linear1_weight, bias = transformer_layers_4_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_4_linear2_weight, bias = transformer_layers_4_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_4_norm2_weight, bias = transformer_layers_4_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear(from = tokens, weight = transformer_layers_5_self_attn_in_proj_weight, bias = transformer_layers_5_self_attn_in_proj_bias, to = qkv, features = 3 * dims)  threadgroups=(ceil_div(3 * dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: attend  threadgroups=(sequence_tokens, sequences)  threads=(128)
// dispatch: linear_added(from = attended, weight = transformer_layers_5_self_attn_out_proj_weight, bias = transformer_layers_5_self_attn_out_proj_bias, residual = tokens, to = mixed, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_5_norm1_weight, bias = transformer_layers_5_norm1_bias, to = between)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: linear_relu(from = between, weight = transformer_layers_5_linear1_weight, bias = transformer_layers_5_linear1_bias, to = lifted, features = inner)  threadgroups=(ceil_div(inner, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = transformer_layers_5_linear2_weight, bias = transformer_layers_5_linear2_bias, residual = between, to = mixed, width = inner, features = dims)  threadgroups=(ceil_div(dims, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: norm(from = mixed, weight = transformer_layers_5_norm2_weight, bias = transformer_layers_5_norm2_bias, to = tokens)  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
// dispatch: answer  threadgroups=(classes, batch)  threads=(32)
// scratch: convolved float32 (batch * 64, dims)
// scratch: tokens float32 (rows, dims)
// scratch: between float32 (rows, dims)
// scratch: mixed float32 (rows, dims)
// scratch: attended float32 (rows, dims)
// scratch: qkv float32 (rows, 3 * dims)
// scratch: lifted float32 (rows, inner)
// tune: BM = 16, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: NORMS = 1, 4
// defaults: cpu BUFFERS = 2, BM = 32, BN = 32
// defaults: cuda BUFFERS = 2
// limits: dims % 4 == 0, dims <= 512
#define HEADS 4
#include "metalbench/dense.h"
#include "metalbench/encoder_dispatches.h"

// A source (tile_sources.h): patches of 4 x 4 pixels of images of 32 x 32, row by row of pixels.
struct Patches {
  using element = float;
  using Line = device const float*;
  static constant constexpr bool kAlongDepth = true;
  device const float* x;
  uint rows;

  INLINED Line line(uint row) const {
    const uint down = row / 8, across = row % 8;
    return row < rows ? x + (ulong(down) * 4 * 32 + across * 4) * 3 : nullptr;
  }
  INLINED float4 quad(thread const Line& from, uint k) const {
    return from && k < 48 ? quad_at(from + k / 12 * 96 + k % 12, 0) : float4(0.0f);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv1_weight, device const float* conv1_bias,
    device float* convolved, constant uint& batch, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<Patches, MatrixRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, 64 * batch}, {conv1_weight, dims, 48}, 48);
  product.store(Store<float, Biased<float>>{convolved, 64 * batch, dims, {conv1_bias, dims}});
}

[[kernel]] void embed(device const float* convolved, device const float* linear_proj_weight,
                      device const float* linear_proj_bias, device const float* cls_token,
                      device float* tokens, constant uint& dims,
                      uint3 place [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
  const uint inner = 64 * dims;
  float v = cls_token[place.x];
  if (place.y == 1) {
    v = linear_proj_bias[place.x] +
        dense_feature(convolved + ulong(place.z) * inner,
                      linear_proj_weight + ulong(place.x) * inner, inner, lane);
  }
  if (lane == 0) {
    tokens[(2 * place.z + place.y) * dims + place.x] = v;
  }
}

[[kernel]] void answer(device const float* tokens, device const float* fc_out_weight,
                       device const float* fc_out_bias, device float* y, constant uint& dims,
                       constant uint& classes, uint2 place [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float sum = dense_feature(tokens + 2 * place.y * dims, fc_out_weight + place.x * dims, dims,
                                  lane);
  if (lane == 0) {
    y[place.y * classes + place.x] = sum + fc_out_bias[place.x];
  }
}
