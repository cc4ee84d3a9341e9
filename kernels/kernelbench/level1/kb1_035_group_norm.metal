// Group norm, channels last: each group of neighbouring channels of each image over its pixels
// (metalbench/pixel_norm.h).
// dispatch: share  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), ceil_div(height * width, SHARE), batch)  threads=(QUADS, DOWN)
// dispatch: join  threadgroups=(batch * groups)  threads=(32)
// dispatch: apply  threads_in_grid=(ceil_div(channels, 4), ceil_div(height * width, ROWS), batch)  threads=(QUADS, DOWN)
// scratch: partial float32 (batch, ceil_div(height * width, SHARE), channels, 2)
// scratch: moments float32 (batch, groups, 2)
// tune: SHARE = 512, 128, 2048
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
#include "metalbench/pixel_norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void share(
    device const float* x, device float* partial, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& groups, uint3 group [[threadgroup_position_in_grid]],
    uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  share_of_pixels<QUADS, DOWN, SHARE>(x, partial, height * width, channels, group, at.xy, memory);
}

[[kernel]] void join(device const float* partial, device float* moments, constant uint& height,
                     constant uint& width, constant uint& channels, constant uint& groups,
                     uint index [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  join_shares<SHARE>(partial, moments, height * width, channels, groups, 1e-5f, index, lane);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void apply(
    device const float* x, device const float* moments, device const float* gn_weight,
    device const float* gn_bias, device float* y, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& groups, uint3 place [[thread_position_in_grid]]) {
  apply_moments<ROWS>(Affine<false>{gn_weight, gn_bias, channels}, x, moments, y, height * width,
                      channels, groups, place);
}
