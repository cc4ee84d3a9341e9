// Batch norm by the statistics of the batch, channels last: the pixels of all images are the rows of
// one matrix, each channel a separate group (metalbench/pixel_norm.h).
// dispatch: share  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), ceil_div(batch * height * width, SHARE), 1)  threads=(QUADS, DOWN)
// dispatch: join  threadgroups=(1 * channels)  threads=(32)
// dispatch: apply  threads_in_grid=(ceil_div(channels, 4), ceil_div(batch * height * width, ROWS), 1)  threads=(QUADS, DOWN)
// scratch: partial float32 (1, ceil_div(batch * height * width, SHARE), channels, 2)
// scratch: moments float32 (1, channels, 2)
// tune: SHARE = 512, 128, 2048
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
#include "metalbench/pixel_norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void share(
    device const float* x, device float* partial, constant uint& batch, constant uint& height,
    constant uint& width, constant uint& channels, uint3 group [[threadgroup_position_in_grid]],
    uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  share_of_pixels<QUADS, DOWN, SHARE>(x, partial, batch * height * width, channels, group, at.xy,
                                      memory);
}

[[kernel]] void join(device const float* partial, device float* moments, constant uint& batch,
                     constant uint& height, constant uint& width, constant uint& channels,
                     uint index [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  join_shares<SHARE>(partial, moments, batch * height * width, channels, channels, 1e-5f, index,
                     lane);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void apply(
    device const float* x, device const float* moments, device const float* bn_weight,
    device const float* bn_bias, device float* y, constant uint& batch, constant uint& height,
    constant uint& width, constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  apply_moments<ROWS>(Affine<false>{bn_weight, bn_bias, channels}, x, moments, y,
                      batch * height * width, channels, channels, place);
}
