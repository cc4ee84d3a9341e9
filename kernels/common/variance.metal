// Population variance of each row: one threadgroup per row, the row read once. KEEP quads a
// thread stay in registers, so that a second pass, over deviations from the mean, costs no memory
// traffic. One pass with sums of x and of x^2 would cancel: of a row around 100 with deviation 1,
// four digits are lost.
// dispatch: variance  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// tune: KEEP = 8, 1, 4
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void variance(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup MomentMemory<TG / 32> memory;
  float4 kept[KEEP];
  const Moments moments = moments_of_row<TG, KEEP>(row_of(x, row, cols), kept, memory, place);
  if (thread_index == 0) {
    y[row] = DTYPE(moments.variance);
  }
}
