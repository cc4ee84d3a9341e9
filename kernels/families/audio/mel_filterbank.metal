// Bands of a power spectrum, and their logarithms: a matrix product whose sums become logarithms as
// they leave the registers. A frame has some two hundred bins and a hundred bands, so that tiles
// are small, and there are as many of them as frames allow.
// dispatch: mel_filterbank  threadgroups=(ceil_div(bands, BN), ceil_div(frames, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct Logarithm {
  float4 operator()(float4 v, uint, uint) const {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = precise::log(v[i] + 1e-5f);
    }
    return v;
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void mel_filterbank(
    device const DTYPE* power, device const DTYPE* filters, device DTYPE* y, constant uint& frames,
    constant uint& bins, constant uint& bands, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({power, frames, bins}, {filters, bins, bands, bands}, bins);
  product.store(Store<DTYPE, Logarithm>{y, frames, bands, {}});
}
