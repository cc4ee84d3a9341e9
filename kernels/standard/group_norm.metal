// Group norm, channels first: mean 0 and variance 1 over the pixels of channels / groups
// neighbouring channels of an image. A group lies in one piece, so this is the layer norm of
// batch * groups long rows: one threadgroup a row, as much of it as fits in registers, the rest
// read again from the cache.
// dispatch: group_norm  threadgroups=(batch * groups)  threads=(min(TG, max(LEAST, 32 * ceil_div(channels / groups * height * width, 128))))
// tune: TG = 1024, 128, 64, 256, 512
// tune: KEEP = 2, 16, 1, 8
// tune: LEAST = 32, 1024
// defaults: cpu TG = 128, KEEP = 16, LEAST = 1024
// defaults: cuda TG = 512, KEEP = 8, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void group_norm(
    device const DTYPE* x, device DTYPE* y, constant uint& channels, constant uint& height,
    constant uint& width, constant uint& groups, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  const uint size = channels / groups * height * width;
  standardise_row<TG, KEEP>(row_of(x, row, size), y + ulong(row) * size, eps, memory, place);
}
