// Instance norm, channels first: each channel of each image gets mean 0 and variance 1 over its
// pixels. They lie side by side, so an image with its channels is a matrix of batch * channels
// rows, and this is the layer norm of its rows: one threadgroup a row, statistics from registers.
// dispatch: instance_norm  threadgroups=(batch * channels)  threads=(min(TG, max(LEAST, 32 * ceil_div(height * width, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void instance_norm(
    device const DTYPE* x, device DTYPE* y, constant uint& height, constant uint& width,
    constant float& eps, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  const uint pixels = height * width;
  standardise_row<TG, KEEP>(row_of(x, row, pixels), y + ulong(row) * pixels, eps, memory, place);
}
