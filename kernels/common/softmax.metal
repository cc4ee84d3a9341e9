// Row softmax: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers; a row longer than that is finished with
// an online softmax and its rest is read again for the output. Maximum and sum are reduced
// together, the sums rescaled to the common maximum: two SIMD-group functions and one barrier per
// row.
// dispatch: softmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 128, KEEP = 4, LEAST = 1024
// defaults: cuda float16 bfloat16 TG = 64
// dtypes: float32, float16, bfloat16
#include "metalbench/softmax.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void softmax(device const DTYPE* x,
                                                               device DTYPE* y, constant uint& cols,
                                                               uint row
                                                               [[threadgroup_position_in_grid]],
                                                               ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float2 partial[TG / 32];
  device DTYPE* to = y + ulong(row) * cols;
  if (cols % 4 == 0) {
    softmax_row<TG, KEEP>(row_of<true>(x, row, cols, -INFINITY), to, partial, place);
  } else {
    softmax_row<TG, KEEP>(row_of(x, row, cols, -INFINITY), to, partial, place);
  }
}
