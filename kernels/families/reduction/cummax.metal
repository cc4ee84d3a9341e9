// What the elements of each row up to each column join to: the largest, the smallest, or the
// logarithm of their exponentials' sum. Three levels, the quads of a thread, lanes, SIMD-groups,
// and a carry that every thread knows: one barrier a block (scan.h).
// dispatch: running  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// instance: cummax FUNCTION = 0
// instance: cummin FUNCTION = 1
// instance: logcumsumexp FUNCTION = 2
// tune: TG = 1024, 64, 32, 128, 256
// tune: QUADS = 1, 4, 2
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, QUADS = 4, LEAST = 1024
// defaults: cuda TG = 128, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/running.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : RunningMax {};
template <>
struct Chosen<1> : RunningMin {};
template <>
struct Chosen<2> : RunningLogSumExp {};

[[kernel, max_total_threads_per_threadgroup(TG)]] void running(device const DTYPE* x,
                                                               device DTYPE* y, constant uint& cols,
                                                               uint row
                                                               [[threadgroup_position_in_grid]],
                                                               ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ScanMemory<TG / 32> memory;
  Chosen<FUNCTION> op;
  op.lane = lane;
  scan_row<TG, QUADS, false, false>(op, row_of(x, row, cols, op.neutral()), y + ulong(row) * cols,
                                    memory, place);
}
