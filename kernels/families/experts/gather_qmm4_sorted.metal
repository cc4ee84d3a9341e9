// Grouped products of a mixture of experts whose weights are codes of 3 to 8 bits: rows come sorted
// by expert. First it is found where each expert's begin. Then every expert has separate tiles
// (metalbench/grouped_tiles.h), in which a tile of its weights becomes elements of threadgroup
// memory (metalbench/quantised_tiles.h). Each code is unpacked once for BM rows of x.
// dispatch: begin  threads_in_grid=(tokens)  threads=(64)
// dispatch: gather_qmm  threadgroups=(ceil_div(rows, BN), ceil_div(tokens, BM) + experts)  threads=(128)
// scratch: offsets uint32 (experts + 1)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 32
// tune: BUFFERS = 1, 2
// tune: HALVES = 1, 0
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, HALVES = 0
// defaults: cuda BK = 32, BUFFERS = 2, HALVES = 0
// dtypes: float32, float16, bfloat16
// math: fast
// limits: cols % GROUP == 0, rows * cols / 4 <= 4294967295
#include "metalbench/grouped_tiles.h"
#include "metalbench/quantised_tiles.h"
using namespace metalbench;

[[kernel]] void begin(device const uint* expert, device uint* offsets, constant uint& tokens,
                      constant uint& experts, uint row [[thread_position_in_grid]]) {
  find_offsets(expert, offsets, tokens, experts, row);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather_qmm(
    device const DTYPE* x, device const uint* offsets, device const uint* w,
    device const DTYPE* w_scales, device const DTYPE* w_biases, device DTYPE* y,
    constant uint& experts, constant uint& rows, constant uint& cols,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  using Tile = Product<MatrixRows<DTYPE>, QuantisedRows<Format, DTYPE, HALVES>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const ExpertRows<BM> own = ExpertRows<BM>::of(offsets, experts, tile.y, lane);
  if (own.count == 0) {
    return;
  }
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  Tile product(uint2(tile.x * BN, 0), memory, PLACE);
  product.multiply({x + ulong(own.first) * cols, own.count, cols},
                   {weights.from_row(ulong(own.expert) * rows), rows}, cols);
  product.store(Store<DTYPE>{y + ulong(own.first) * rows, own.count, rows});
}
