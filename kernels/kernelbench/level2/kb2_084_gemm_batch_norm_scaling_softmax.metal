// softmax(c batch_norm(x W + b)) with one number c, over rows. The norm works on strips of columns
// of the product, softmax on its rows, both in place (metalbench/column_norm.h,
// metalbench/softmax.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: normalise  threadgroups=(ceil_div(ceil_div(features, 4), QUADS))  threads=(QUADS, DOWN)
// dispatch: exponentiate  threadgroups=(batch)  threads=(TG)
// tune: TG = 256, 64, 32, 128
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4
// tune: DOWN = 16, 32, 64
// tune: KEEP = 4, 16
// tune: BUFFERS = 1, 2
// defaults: cpu TG = 64, BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda TG = 64, BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/column_norm.h"
#include "metalbench/linear.h"
#include "metalbench/softmax.h"
using namespace metalbench;

struct AffineThenScaled {
  Affine<false> affine;
  device const float* scale;
  float4 operator()(float4 v, uint row, uint column) const {
    return affine(v, row, column) * scale[0];
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* gemm_weight, device const float* gemm_bias,
    device float* y, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, gemm_weight, batch, inner, features};
  layer.store(y, Biased<float>{gemm_bias, features}, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void normalise(
    device float* y, device const float* bn_weight, device const float* bn_bias,
    device const float* scale, constant uint& batch, constant uint& features,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup ColumnMemory<QUADS, DOWN> memory;
  normalise_columns<QUADS, DOWN, KEEP>(AffineThenScaled{{bn_weight, bn_bias, features}, scale}, y,
                                       y, batch, features, 1e-5f, group.x, at, memory);
}

[[kernel]] void exponentiate(device float* y, constant uint& features,
                             uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[TG / 32];
  softmax_row<TG, 4>(row_in_place(y, row, features, -INFINITY), y + ulong(row) * features, partial,
                     PLACE);
}
