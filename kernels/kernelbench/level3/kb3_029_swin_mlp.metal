// SwinMLP. A block is five dispatches: tokens of windows are mixed by a product of a matrix for each head
// and the tokens where they lie, whose norm, shift and padding are part of how it is read and the
// residual of how it is stored; of a norm only mean and scale of each token are in memory
// (metalbench/layer_norms.h). Between stages four tokens become one (metalbench/swin_dispatches.h).
// let: across0 = side / 4
// let: across1 = side / 8
// let: across2 = side / 16
// let: across3 = side / 32
// let: rows0 = batch * across0 * across0
// let: rows1 = batch * across1 * across1
// let: rows2 = batch * across2 * across2
// let: rows3 = batch * across3 * across3
// let: channels0 = 3 * dims
// let: channels1 = 6 * dims
// let: channels2 = 12 * dims
// let: channels3 = 24 * dims
// dispatch: embed(weight = patch_embed_proj_weight, bias = patch_embed_proj_bias, to = first, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: norm(from = first, weight = patch_embed_norm_weight, bias = patch_embed_norm_bias, to = tokens, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: row_moments(from = tokens, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_0_blocks_0_spatial_mlp_weight, bias = layers_0_blocks_0_spatial_mlp_bias, norm_weight = layers_0_blocks_0_norm1_weight, norm_bias = layers_0_blocks_0_norm1_bias, across = across0, channels = channels0, shift = 0, windows = (across0 / 7))  threadgroups=(ceil_div(batch * (across0 / 7) * (across0 / 7) * dims, BN), ceil_div(49, BM), 3)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_0_blocks_0_norm2_weight, norm_bias = layers_0_blocks_0_norm2_bias, weight = layers_0_blocks_0_mlp_fc1_weight, bias = layers_0_blocks_0_mlp_fc1_bias, width = channels0, rows = rows0, features = 4 * channels0)  threadgroups=(ceil_div(4 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_0_blocks_0_mlp_fc2_weight, bias = layers_0_blocks_0_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_0_blocks_1_spatial_mlp_weight, bias = layers_0_blocks_1_spatial_mlp_bias, norm_weight = layers_0_blocks_1_norm1_weight, norm_bias = layers_0_blocks_1_norm1_bias, across = across0, channels = channels0, shift = 4, windows = (across0 / 7 + 1))  threadgroups=(ceil_div(batch * (across0 / 7 + 1) * (across0 / 7 + 1) * dims, BN), ceil_div(49, BM), 3)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows0, width = channels0)  threadgroups=(ceil_div(rows0, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_0_blocks_1_norm2_weight, norm_bias = layers_0_blocks_1_norm2_bias, weight = layers_0_blocks_1_mlp_fc1_weight, bias = layers_0_blocks_1_mlp_fc1_bias, width = channels0, rows = rows0, features = 4 * channels0)  threadgroups=(ceil_div(4 * channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_0_blocks_1_mlp_fc2_weight, bias = layers_0_blocks_1_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels0, rows = rows0, features = channels0)  threadgroups=(ceil_div(channels0, BN), ceil_div(rows0, BM))  threads=(128)
// dispatch: merge(from = tokens, to = merged, across = across0, channels = channels0)  threads_in_grid=(4 * ceil_div(channels0, 4), across1, batch * across1)  threads=(32)
// dispatch: row_moments(from = merged, rows = rows1, width = 4 * channels0)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: reduce(norm_weight = layers_0_downsample_norm_weight, norm_bias = layers_0_downsample_norm_bias, weight = layers_0_downsample_reduction_weight, width = 4 * channels0, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_1_blocks_0_spatial_mlp_weight, bias = layers_1_blocks_0_spatial_mlp_bias, norm_weight = layers_1_blocks_0_norm1_weight, norm_bias = layers_1_blocks_0_norm1_bias, across = across1, channels = channels1, shift = 0, windows = (across1 / 7))  threadgroups=(ceil_div(batch * (across1 / 7) * (across1 / 7) * dims, BN), ceil_div(49, BM), 6)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_1_blocks_0_norm2_weight, norm_bias = layers_1_blocks_0_norm2_bias, weight = layers_1_blocks_0_mlp_fc1_weight, bias = layers_1_blocks_0_mlp_fc1_bias, width = channels1, rows = rows1, features = 4 * channels1)  threadgroups=(ceil_div(4 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_1_blocks_0_mlp_fc2_weight, bias = layers_1_blocks_0_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_1_blocks_1_spatial_mlp_weight, bias = layers_1_blocks_1_spatial_mlp_bias, norm_weight = layers_1_blocks_1_norm1_weight, norm_bias = layers_1_blocks_1_norm1_bias, across = across1, channels = channels1, shift = 4, windows = (across1 / 7 + 1))  threadgroups=(ceil_div(batch * (across1 / 7 + 1) * (across1 / 7 + 1) * dims, BN), ceil_div(49, BM), 6)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows1, width = channels1)  threadgroups=(ceil_div(rows1, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_1_blocks_1_norm2_weight, norm_bias = layers_1_blocks_1_norm2_bias, weight = layers_1_blocks_1_mlp_fc1_weight, bias = layers_1_blocks_1_mlp_fc1_bias, width = channels1, rows = rows1, features = 4 * channels1)  threadgroups=(ceil_div(4 * channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_1_blocks_1_mlp_fc2_weight, bias = layers_1_blocks_1_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels1, rows = rows1, features = channels1)  threadgroups=(ceil_div(channels1, BN), ceil_div(rows1, BM))  threads=(128)
// dispatch: merge(from = tokens, to = merged, across = across1, channels = channels1)  threads_in_grid=(4 * ceil_div(channels1, 4), across2, batch * across2)  threads=(32)
// dispatch: row_moments(from = merged, rows = rows2, width = 4 * channels1)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: reduce(norm_weight = layers_1_downsample_norm_weight, norm_bias = layers_1_downsample_norm_bias, weight = layers_1_downsample_reduction_weight, width = 4 * channels1, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_0_spatial_mlp_weight, bias = layers_2_blocks_0_spatial_mlp_bias, norm_weight = layers_2_blocks_0_norm1_weight, norm_bias = layers_2_blocks_0_norm1_bias, across = across2, channels = channels2, shift = 0, windows = (across2 / 7))  threadgroups=(ceil_div(batch * (across2 / 7) * (across2 / 7) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_0_norm2_weight, norm_bias = layers_2_blocks_0_norm2_bias, weight = layers_2_blocks_0_mlp_fc1_weight, bias = layers_2_blocks_0_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_0_mlp_fc2_weight, bias = layers_2_blocks_0_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_1_spatial_mlp_weight, bias = layers_2_blocks_1_spatial_mlp_bias, norm_weight = layers_2_blocks_1_norm1_weight, norm_bias = layers_2_blocks_1_norm1_bias, across = across2, channels = channels2, shift = 4, windows = (across2 / 7 + 1))  threadgroups=(ceil_div(batch * (across2 / 7 + 1) * (across2 / 7 + 1) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_1_norm2_weight, norm_bias = layers_2_blocks_1_norm2_bias, weight = layers_2_blocks_1_mlp_fc1_weight, bias = layers_2_blocks_1_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_1_mlp_fc2_weight, bias = layers_2_blocks_1_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_2_spatial_mlp_weight, bias = layers_2_blocks_2_spatial_mlp_bias, norm_weight = layers_2_blocks_2_norm1_weight, norm_bias = layers_2_blocks_2_norm1_bias, across = across2, channels = channels2, shift = 0, windows = (across2 / 7))  threadgroups=(ceil_div(batch * (across2 / 7) * (across2 / 7) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_2_norm2_weight, norm_bias = layers_2_blocks_2_norm2_bias, weight = layers_2_blocks_2_mlp_fc1_weight, bias = layers_2_blocks_2_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_2_mlp_fc2_weight, bias = layers_2_blocks_2_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_3_spatial_mlp_weight, bias = layers_2_blocks_3_spatial_mlp_bias, norm_weight = layers_2_blocks_3_norm1_weight, norm_bias = layers_2_blocks_3_norm1_bias, across = across2, channels = channels2, shift = 4, windows = (across2 / 7 + 1))  threadgroups=(ceil_div(batch * (across2 / 7 + 1) * (across2 / 7 + 1) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_3_norm2_weight, norm_bias = layers_2_blocks_3_norm2_bias, weight = layers_2_blocks_3_mlp_fc1_weight, bias = layers_2_blocks_3_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_3_mlp_fc2_weight, bias = layers_2_blocks_3_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_4_spatial_mlp_weight, bias = layers_2_blocks_4_spatial_mlp_bias, norm_weight = layers_2_blocks_4_norm1_weight, norm_bias = layers_2_blocks_4_norm1_bias, across = across2, channels = channels2, shift = 0, windows = (across2 / 7))  threadgroups=(ceil_div(batch * (across2 / 7) * (across2 / 7) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_4_norm2_weight, norm_bias = layers_2_blocks_4_norm2_bias, weight = layers_2_blocks_4_mlp_fc1_weight, bias = layers_2_blocks_4_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_4_mlp_fc2_weight, bias = layers_2_blocks_4_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_2_blocks_5_spatial_mlp_weight, bias = layers_2_blocks_5_spatial_mlp_bias, norm_weight = layers_2_blocks_5_norm1_weight, norm_bias = layers_2_blocks_5_norm1_bias, across = across2, channels = channels2, shift = 4, windows = (across2 / 7 + 1))  threadgroups=(ceil_div(batch * (across2 / 7 + 1) * (across2 / 7 + 1) * dims, BN), ceil_div(49, BM), 12)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows2, width = channels2)  threadgroups=(ceil_div(rows2, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_2_blocks_5_norm2_weight, norm_bias = layers_2_blocks_5_norm2_bias, weight = layers_2_blocks_5_mlp_fc1_weight, bias = layers_2_blocks_5_mlp_fc1_bias, width = channels2, rows = rows2, features = 4 * channels2)  threadgroups=(ceil_div(4 * channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_2_blocks_5_mlp_fc2_weight, bias = layers_2_blocks_5_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels2, rows = rows2, features = channels2)  threadgroups=(ceil_div(channels2, BN), ceil_div(rows2, BM))  threads=(128)
// dispatch: merge(from = tokens, to = merged, across = across2, channels = channels2)  threads_in_grid=(4 * ceil_div(channels2, 4), across3, batch * across3)  threads=(32)
// dispatch: row_moments(from = merged, rows = rows3, width = 4 * channels2)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: reduce(norm_weight = layers_2_downsample_norm_weight, norm_bias = layers_2_downsample_norm_bias, weight = layers_2_downsample_reduction_weight, width = 4 * channels2, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_3_blocks_0_spatial_mlp_weight, bias = layers_3_blocks_0_spatial_mlp_bias, norm_weight = layers_3_blocks_0_norm1_weight, norm_bias = layers_3_blocks_0_norm1_bias, across = across3, channels = channels3, shift = 0, windows = (across3 / 7))  threadgroups=(ceil_div(batch * (across3 / 7) * (across3 / 7) * dims, BN), ceil_div(49, BM), 24)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_3_blocks_0_norm2_weight, norm_bias = layers_3_blocks_0_norm2_bias, weight = layers_3_blocks_0_mlp_fc1_weight, bias = layers_3_blocks_0_mlp_fc1_bias, width = channels3, rows = rows3, features = 4 * channels3)  threadgroups=(ceil_div(4 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_3_blocks_0_mlp_fc2_weight, bias = layers_3_blocks_0_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: row_moments(from = tokens, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: mix(weight = layers_3_blocks_1_spatial_mlp_weight, bias = layers_3_blocks_1_spatial_mlp_bias, norm_weight = layers_3_blocks_1_norm1_weight, norm_bias = layers_3_blocks_1_norm1_bias, across = across3, channels = channels3, shift = 0, windows = (across3 / 7))  threadgroups=(ceil_div(batch * (across3 / 7) * (across3 / 7) * dims, BN), ceil_div(49, BM), 24)  threads=(128)
// dispatch: row_moments(from = mixed, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: raise(from = mixed, norm_weight = layers_3_blocks_1_norm2_weight, norm_bias = layers_3_blocks_1_norm2_bias, weight = layers_3_blocks_1_mlp_fc1_weight, bias = layers_3_blocks_1_mlp_fc1_bias, width = channels3, rows = rows3, features = 4 * channels3)  threadgroups=(ceil_div(4 * channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: linear_added(from = lifted, weight = layers_3_blocks_1_mlp_fc2_weight, bias = layers_3_blocks_1_mlp_fc2_bias, residual = mixed, to = tokens, width = 4 * channels3, rows = rows3, features = channels3)  threadgroups=(ceil_div(channels3, BN), ceil_div(rows3, BM))  threads=(128)
// dispatch: norm(from = tokens, weight = norm_weight, bias = norm_bias, to = first, rows = rows3, width = channels3)  threadgroups=(ceil_div(rows3, NORMS))  threads=(32 * NORMS)
// dispatch: average(from = first, across = across3, channels = channels3)  threadgroups=(ceil_div(ceil_div(channels3, 4), QUADS), batch)  threads=(QUADS, DOWN)
// dispatch: answer(channels = channels3)  threadgroups=(classes, batch)  threads=(32)
// scratch: first float32 (rows0, channels0)
// scratch: tokens float32 (rows0, channels0)
// scratch: mixed float32 (rows0, channels0)
// scratch: merged float32 (rows0, channels0)
// scratch: lifted float32 (rows0, 4 * channels0)
// scratch: moments float32 (rows0, 2)
// scratch: means float32 (batch, channels3)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: NORMS = 4, 1
// tune: QUADS = 8, 4
// tune: DOWN = 16, 8
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, NORMS = 1, QUADS = 4, DOWN = 8
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: side % 224 == 0
#include "metalbench/activations.h"
#include "metalbench/swin_dispatches.h"
#include "metalbench/window_tokens.h"

using NormLayer = Product<StandardRows, MatrixRows<float>, BM, BN, BK>;

[[kernel, max_total_threads_per_threadgroup(32 * NORMS)]] void row_moments(
    device const float* from, device float* moments, constant uint& rows, constant uint& width,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<1> memory;
  const uint row = norm_row<NORMS>(group, simdgroup);
  if (row < rows) {
    store_row_moments(from, moments, row, width, 1e-5f, memory, lane);
  }
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void mix(
    device const float* tokens, device const float* moments, device const float* norm_weight,
    device const float* norm_bias, device const float* weight, device const float* bias,
    device float* mixed, constant uint& batch, constant uint& across, constant uint& channels,
    constant uint& dims, constant uint& shift, constant uint& windows,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, WindowTokens, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const TokenWindows geometry = {batch, across, channels, Divisor::of(dims), Divisor::of(windows), shift, tile.z * dims};
  const WindowTokens columns = {tokens, moments, norm_weight, norm_bias, geometry};
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({weight + tile.z * 49 * 49, 49, 49}, columns, 49);
  product.store(StoreTokens{mixed, tokens, bias + tile.z * 49, geometry});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void raise(
    device const float* from, device const float* moments, device const float* norm_weight,
    device const float* norm_bias, device const float* weight, device const float* bias,
    device float* lifted, constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormLayer::kMemory];
  NormLayer product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({from, moments, norm_weight, norm_bias, rows, width}, {weight, features, width},
                   width);
  product.store(Store<float, BiasedThen<float, Gelu>>{lifted, rows, features, {{bias, features}}});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void reduce(
    device const float* merged, device const float* moments, device const float* norm_weight,
    device const float* norm_bias, device const float* weight, device float* tokens,
    constant uint& rows, constant uint& width, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[NormLayer::kMemory];
  NormLayer product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({merged, moments, norm_weight, norm_bias, rows, width},
                   {weight, features, width}, width);
  product.store(Store<float>{tokens, rows, features});
}
