// The least element of each row of group_norm(x W + b), plus each number of a bias: (features,
// batch). The norm of a row goes no further than its minimum, and is made by the lanes of one
// threadgroup, some a group (metalbench/group_rows.h).
// dispatch: linear  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: least  threadgroups=(batch)  threads=(TG)
// dispatch: spread  threads_in_grid=(ceil_div(batch, 4), features)  threads=(32, 4)
// scratch: product float32 (batch, features)
// scratch: minima float32 (batch)
// tune: TG = 128, 64, 256
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: LANES = 8, 4, 16, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/group_rows.h"
#include "metalbench/linear.h"
#include "metalbench/quads.h"
#include "metalbench/row_shares.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void linear(
    device const float* x, device const float* gemm_weight, device const float* gemm_bias,
    device float* product, constant uint& batch, constant uint& inner, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, gemm_weight, batch, inner, features};
  layer.store(product, Biased<float>{gemm_bias, features}, tile, memory, PLACE);
}

[[kernel]] void least(device const float* product, device const float* group_norm_weight,
                      device const float* group_norm_bias, device float* minima,
                      constant uint& features, constant uint& groups,
                      uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[TG / 32];
  const AffineColumn affine = {group_norm_weight, group_norm_bias};
  const uint size = features / groups;
  float smallest = INFINITY;
  for (uint first = 0; first < groups; first += TG / LANES) {
    const uint index = first + thread_index / LANES;
    const uint start = index * size;
    const uint own = index < groups ? size : 0;
    const GroupOfColumns<LANES> group = GroupOfColumns<LANES>::of(
        product + ulong(row) * features + start, own, 1e-5f, thread_index);
    for (uint i = group.lane; i < own; i += LANES) {
      smallest = min(smallest, affine(group(i), start + i));
    }
  }
  smallest = join_lanes<RowMin, 32>(smallest);
  if (lane == 0) {
    partial[simdgroup] = smallest;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    for (uint i = 1; i < TG / 32; ++i) {
      smallest = min(smallest, partial[i]);
    }
    minima[row] = smallest;
  }
}

[[kernel]] void spread(device const float* minima, device const float* bias, device float* y,
                       constant uint& batch, constant uint& features,
                       uint2 place [[thread_position_in_grid]]) {
  store_quad(y + ulong(place.y) * batch, 4 * place.x, batch,
             bias[place.y] + load_quad(minima, 4 * place.x, batch));
}
