// Grouped products of a mixture of experts with weights of small floats: mxfp4, mxfp8 or nvfp4. Rows
// come sorted by expert, and every expert has separate tiles (metalbench/grouped_tiles.h), for which
// its weights become elements of threadgroup memory (metalbench/quantised_tiles.h).
// dispatch: begin  threads_in_grid=(tokens)  threads=(64)
// dispatch: gather_qmm  threadgroups=(ceil_div(rows, BN), ceil_div(tokens, BM) + experts)  threads=(128)
// scratch: offsets uint32 (experts + 1)
// instance: mxfp4 BITS = 4, GROUP = 32
// instance: mxfp8 BITS = 8, GROUP = 32
// instance: nvfp4 BITS = 4, GROUP = 16
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BK = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % 32 == 0, rows * cols / 4 <= 4294967295
#include "metalbench/grouped_tiles.h"
#include "metalbench/quantised_tiles.h"
using namespace metalbench;

[[kernel]] void begin(device const uint* expert, device uint* offsets, constant uint& tokens,
                      constant uint& experts, uint row [[thread_position_in_grid]]) {
  find_offsets(expert, offsets, tokens, experts, row);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather_qmm(
    device const DTYPE* x, device const uint* offsets, device const uint* w,
    device const uchar* w_scales, device DTYPE* y, constant uint& experts, constant uint& rows,
    constant uint& cols, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Format = SmallFloats<BITS, GROUP>;
  using Tile = PartedProduct<MatrixRows<DTYPE>, QuantisedRows<Format, DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const ExpertRows<BM> own = ExpertRows<BM>::of(offsets, experts, tile.y, lane);
  if (own.count == 0) {
    return;
  }
  const Weights<Format> weights = {w, {w_scales}, cols};
  Tile product(uint2(tile.x * BN, 0), memory, PLACE);
  product.multiply({x + ulong(own.first) * cols, own.count, cols},
                   {weights.from_row(ulong(own.expert) * rows), rows}, cols);
  product.tile.store(Store<DTYPE>{y + ulong(own.first) * rows, own.count, rows});
}
