// softmax(gelu(x W + b)) over rows: gelu is the map through which the product's sums leave the
// registers, softmax works on whole rows of them, in place (metalbench/softmax.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: normalise  threadgroups=(batch)  threads=(TG)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 256, 64, 32, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, TG = 64, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, TG = 64, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/linear.h"
#include "metalbench/softmax.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* linear_weight, device const float* linear_bias,
    device float* y, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, linear_weight, batch, inner, features};
  layer.store(y, BiasedThen<float, Gelu>{{linear_bias, features}}, tile, memory, PLACE);
}

[[kernel]] void normalise(device float* y, constant uint& features,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[TG / 32];
  softmax_row<TG, 4>(row_in_place(y, row, features, -INFINITY), y + ulong(row) * features, partial,
                     PLACE);
}
