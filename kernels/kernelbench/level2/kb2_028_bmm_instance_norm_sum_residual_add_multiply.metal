// (norm(x W + b) + y) y, each row normalised: the norm works on whole rows of the product, in place
// (metalbench/norm.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: normalise  threadgroups=(batch)  threads=(TG)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 256, 64, 32, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, TG = 64, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, TG = 64, BUFFERS = 2
#include "metalbench/linear.h"
#include "metalbench/norm.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* bmm_weight, device const float* bmm_bias,
    device float* z, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, bmm_weight, batch, inner, features};
  layer.store(z, Biased<float>{bmm_bias, features}, tile, memory, PLACE);
}

[[kernel]] void normalise(device float* z, device const float* y, constant uint& features,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup MomentMemory<TG / 32> memory;
  float4 kept[4];
  device float* to = z + ulong(row) * features;
  device const float* with = y + ulong(row) * features;
  const RowInPlace<float> from = row_in_place(z, row, features);
  const Moments moments = moments_of_row<TG, 4>(from, kept, memory, PLACE);
  const float scale = precise::rsqrt(moments.variance + 1e-5f);
  for (uint column = 4 * thread_index; column < features; column += 4 * TG) {
    const float4 norm = (from(column) - moments.mean - moments.drift) * scale;
    const float4 added = load_quad(with, column, features);
    store_quad(to, column, features, (norm + added) * added);
  }
}
