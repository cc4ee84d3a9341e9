// x W^T: both operands lie along depth, so that quads of both are read along rows and none is
// transposed in memory; the matrix units take W's tile transposed. Tiles are small by default, as a
// layer of a few hundred outputs makes too few large ones to fill a GPU.
// dispatch: linear_xwt  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear_xwt(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& inner, constant uint& outputs, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, inner}, {w, outputs, inner}, inner);
  product.store(Store<DTYPE>{y, rows, outputs});
}
