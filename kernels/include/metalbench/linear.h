// Linear layers, x W^T: W is (features, inner), a row for each feature, so that both operands lie
// along depth. A kernel is what becomes of the sums:
//   dispatch: NAME  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"

namespace metalbench {

template <uint TileM, uint TileN, uint TileK>
struct Linear {
  using Rows = MatrixRows<float>;
  using Tile = Product<Rows, Rows, TileM, TileN, TileK>;
  static constant constexpr uint kMemory = Tile::kMemory;
  device const float* x;
  device const float* w;
  uint batch;
  uint inner;
  uint features;

  // Hands the sums of tile `tile` to an epilogue (epilogues.h, row_shares.h).
  template <typename Epilogue>
  INLINED void compute(Epilogue epilogue, uint2 tile, threadgroup float4* memory,
                       Place place) const {
    Tile product(tile * uint2(TileN, TileM), memory, place);
    product.multiply(Rows{x, batch, inner}, Rows{w, features, inner}, inner);
    product.store(epilogue);
  }

  // Writes map(sums) to `y`, (batch, features).
  template <typename Map>
  INLINED void store(device float* y, Map map, uint2 tile, threadgroup float4* memory,
                     Place place) const {
    compute(Store<float, Map>{y, batch, features, map}, tile, memory, place);
  }
};

}  // namespace metalbench
