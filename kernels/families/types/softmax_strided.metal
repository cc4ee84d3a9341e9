// Softmax of the left half of each row, without a copy of it: rows of `cols` elements that are
// `2 * cols` apart. One threadgroup a row, the row read once (metalbench/softmax.h). The elements
// between rows are never read.
// dispatch: softmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// let: row_stride = 2 * cols
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void softmax(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant uint& row_stride,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float2 partial[TG / 32];
  const Row<DTYPE> from(x + ulong(row) * row_stride, cols, -INFINITY);
  softmax_row<TG, KEEP>(from, y + ulong(row) * cols, partial, place);
}
