// softmax(gelu(x w)) over rows.
// Gelu fuses into the product, on the sums as they leave the registers. Softmax needs whole rows,
// which are wider than a tile: it is a second dispatch, which keeps a row in registers
// (metalbench/softmax.h). In between are float sums, so that half precision rounds once.
// dispatch: multiply  threadgroups=(ceil_div(n, BN), ceil_div(m, BM))  threads=(128)
// dispatch: normalize  threadgroups=(m)  threads=(ROW_THREADS)
// scratch: activated float32 (m, n)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: ROW_THREADS = 256, 64, 32, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, ROW_THREADS = 64, BUFFERS = 2
// defaults: cuda ROW_THREADS = 64, BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/epilogues.h"
#include "metalbench/softmax.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void multiply(
    device const DTYPE* x, device const DTYPE* w, device float* activated, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixColumns<DTYPE>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, m, k}, {w, k, n, n}, k);
  product.store(Store<float, Activated<Gelu>>{activated, m, n});
}

[[kernel]] void normalize(device const float* activated, device DTYPE* y, constant uint& n,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[ROW_THREADS / 32];
  softmax_row<ROW_THREADS, 4>(row_of(activated, row, n, -INFINITY), y + ulong(row) * n, partial,
                              PLACE);
}
