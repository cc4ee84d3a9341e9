// The dispatches that both versions of Swin share before and behind their blocks. Images are
// square, `side` pixels each way; tokens are patches of 4 x 4 pixels, and later of twice as many
// each way.
//   embed    threadgroups=(ceil_div(features, BN), ceil_div(rows, BM))  threads=(128)
//   merge    threads_in_grid=(4 * ceil_div(channels, 4), across / 2, batch * (across / 2)), of
//            `across` tokens each way before
//   average  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), batch)  threads=(QUADS, DOWN)
//   answer   threadgroups=(classes, batch)  threads=(32)
#pragma once
#include "metalbench/columns.h"
#include "metalbench/dense.h"
#include "metalbench/joins.h"
#include "metalbench/layer_dispatches.h"

namespace metalbench {

// A source (tile_sources.h): patches of 4 x 4 pixels of three channels, of square images.
struct SquarePatches {
  using element = float;
  using Line = device const float*;
  static constant constexpr bool kAlongDepth = true;
  device const float* x;
  uint side;
  uint rows;

  // Patches of a line of all images lie side by side.
  INLINED Line line(uint row) const {
    const uint across = side / 4, down = row / across;
    return row < rows ? x + (ulong(down) * 4 * side + (row - down * across) * 4) * 3 : nullptr;
  }
  INLINED float4 quad(thread const Line& from, uint k) const {
    return from && k < 48 ? quad_at(from + k / 12 * side * 3 + k % 12, 0) : float4(0.0f);
  }
};

}  // namespace metalbench

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void embed(
    device const float* x, device const float* weight, device const float* bias, device float* to,
    constant uint& side, constant uint& rows, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<SquarePatches, MatrixRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, side, rows}, {weight, features, 48}, 48);
  product.store(Store<float, Biased<float>>{to, rows, features, {bias, features}});
}

// Four tokens become one of four times the channels: (0, 0), (1, 0), (0, 1), (1, 1), by line first.
[[kernel]] void merge(device const float* from, device float* to, constant uint& across,
                      constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  const uint quads = (channels + 3) / 4, corner = place.x / quads;
  const uint column = 4 * (place.x - corner * quads);
  const uint token = (2 * place.z + corner % 2) * across + 2 * place.y + corner / 2;
  const uint merged = place.z * (across / 2) + place.y;
  const float4 v = load_quad(from + ulong(token) * channels, column, channels);
  store_quad(to + (4 * ulong(merged) + corner) * channels, column, channels, v);
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void average(
    device const float* from, device float* means, constant uint& across, constant uint& channels,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Mean(), from, means, across * across, channels, group, at, partial);
}

[[kernel]] void answer(device const float* means, device const float* head_weight,
                       device const float* head_bias, device float* y, constant uint& channels,
                       constant uint& classes, uint2 place [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float sum = dense_feature(means + place.y * channels,
                                  head_weight + ulong(place.x) * channels, channels, lane);
  if (lane == 0) {
    y[place.y * classes + place.x] = sum + head_bias[place.x];
  }
}
