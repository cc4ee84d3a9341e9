// Population variance of each row: one threadgroup per row, the row read once. KEEP quads a
// thread stay in registers, so that a second pass, over deviations from the mean, costs no memory
// traffic. One pass with sums of x and of x^2 would cancel: of a row around 100 with deviation 1,
// four digits are lost.
// dispatch: variance  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void variance(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  float4 kept[KEEP];
  const Moments moments = moments_of_row<TG, KEEP>(row_of(x, row, cols), kept, memory, place);
  if (thread_index == 0) {
    y[row] = DTYPE(moments.variance);
  }
}
