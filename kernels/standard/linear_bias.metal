// x W + b: a dense layer.
// The bias is added to the sums as they leave the registers: one quad of it for each quad of a row,
// from the cache. Tiles are small by default, because a layer of a few hundred columns makes too
// few large ones to fill a GPU.
// dispatch: linear_bias  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_bias(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& rows, constant uint& inputs, constant uint& outputs,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, inputs}, {w, inputs, outputs, outputs}, inputs);
  product.store(Store<DTYPE, Biased<DTYPE>>{y, rows, outputs, {bias, outputs}});
}
