// softmax(Q K^T / sqrt(dims)) over keys: the weights of an attention layer.
// Scores are a product with a transposed operand: K is read along its rows, as it lies, and turned
// on the way from threadgroup memory to registers. The scale is applied to the sums. A row of
// weights is wider than a tile, so softmax is a second dispatch, which keeps a row in registers
// (metalbench/softmax.h).
// dispatch: score  threadgroups=(ceil_div(keys, BN), ceil_div(queries, BM))  threads=(128)
// dispatch: normalize  threadgroups=(queries)  threads=(ROW_THREADS)
// scratch: scores float32 (queries, keys)
// tune: BM = 64, 32, 128
// tune: BN = 64, 32, 128
// tune: ROW_THREADS = 256, 64, 32, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, ROW_THREADS = 64, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, ROW_THREADS = 64, BUFFERS = 2
// defaults: cuda float32 BM = 64, BN = 128
// defaults: cuda float16 bfloat16 BM = 128, BN = 128
// dtypes: float32, float16, bfloat16
#include "metalbench/epilogues.h"
#include "metalbench/softmax.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct Scaled {
  float scale;
  float4 operator()(float4 v, uint, uint) const { return v * scale; }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void score(
    device const DTYPE* q, device const DTYPE* k, device float* scores, constant uint& queries,
    constant uint& keys, constant uint& dims, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({q, queries, dims}, {k, keys, dims}, dims);
  product.store(Store<float, Scaled>{scores, queries, keys, {precise::rsqrt(float(dims))}});
}

[[kernel]] void normalize(device const float* scores, device DTYPE* y, constant uint& keys,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[ROW_THREADS / 32];
  softmax_row<ROW_THREADS, 4>(row_of(scores, row, keys, -INFINITY), y + ulong(row) * keys, partial,
                              PLACE);
}
