// rms_norm(x) W^T: a norm of rows and the dense layer after it, in one pass.
// The norm is a factor of a whole row, and a factor may as well be applied to the sums: x is
// multiplied as it is, while the threads that fetch it add up the squares of what passes through
// their registers (metalbench/product_norms.h). Four lanes have fetched one row, so two shuffles
// finish its sum. W has a row for each output, as frameworks store it.
// dispatch: rms_norm_linear  threadgroups=(ceil_div(outputs, BN), ceil_div(rows, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// defaults: cuda float16 bfloat16 BK = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/epilogues.h"
#include "metalbench/product_norms.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void rms_norm_linear(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& rows,
    constant uint& inputs, constant uint& outputs, constant float& eps,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<SquaredRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  threadgroup float scales[BM];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, inputs}, {w, outputs, inputs}, inputs);
  inverse_rms(product.left, scales, inputs, eps, thread_index);
  product.store(Store<DTYPE, RowScaled<AsItIs>>{y, rows, outputs, {scales, product.corner.y}});
}
