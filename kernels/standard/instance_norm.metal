// Instance norm, channels first: each channel of each image gets mean 0 and variance 1 over its
// pixels. They lie side by side, so an image with its channels is a matrix of batch * channels
// rows, and this is the layer norm of its rows: one threadgroup a row, statistics from registers.
// dispatch: instance_norm  threadgroups=(batch * channels)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void instance_norm(device const DTYPE* x, device DTYPE* y, constant uint& height,
                              constant uint& width, constant float& eps,
                              uint row [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup MomentMemory<TG / 32> memory;
  const uint pixels = height * width;
  standardise_row<TG, KEEP>(row_of(x, row, pixels), y + ulong(row) * pixels, eps, memory, place);
}
