// Cross entropy of a linear layer's logits, hidden W^T, without the logits in memory: tiles of the
// product become shares of each row's sum of exponentials (row_shares.h), and the one logit of the
// row's class is stored. A second dispatch joins a row's shares. The log-sum-exp is what the gradient
// needs (linear_cross_entropy_gradient).
// dispatch: share  threadgroups=(ceil_div(vocabulary, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: join  threads_in_grid=(32, rows)  threads=(32, 4)
// scratch: shares float32 (rows, 4 * ceil_div(vocabulary, BN))
// scratch: chosen float32 (rows)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/linear_cross_entropy.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void share(
    device const DTYPE* hidden, device const DTYPE* w, device const uint* target,
    device float* shares, device float* chosen, constant uint& rows, constant uint& dims,
    constant uint& vocabulary, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<DTYPE>, MatrixRows<DTYPE>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({hidden, rows, dims}, {w, vocabulary, dims}, dims);
  product.store(StoreLogitShares<BN>{{shares, rows, vocabulary}, target, chosen});
}

[[kernel]] void join(device const float* shares, device const float* chosen, device float* loss,
                     device float* lse, constant uint& vocabulary,
                     uint2 at [[thread_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  const float2 sum = join_row<RowExpSum>(shares, at.y, shares_of_row<BN>(vocabulary), lane);
  if (lane == 0) {
    lse[at.y] = log_sum_exp(sum);
    loss[at.y] = precise::log(sum.y) + (sum.x - chosen[at.y]);
  }
}
