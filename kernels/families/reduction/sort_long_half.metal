// Rows of half types and of any length in ascending order, NaN last: sort_long with two passes, as
// elements have 16 bits (metalbench/radix.h), or with INDICES where sorted elements come from.
// dispatch: count_first  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_first  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: count_last  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_last  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// scratch: keys uint32 (rows, cols)
// scratch: indices uint32 (1 + INDICES * rows * cols)
// scratch: counts uint32 (rows, ceil_div(cols, 256 * KEYS), 256)
// scratch: totals uint32 (rows, 256)
// instance: elements INDICES = 0
// instance: indices INDICES = 1
// tune: KEYS = 8, 4, 16
// dtypes: float16, bfloat16
// limits: cols <= 4294963200
#include "metalbench/radix.h"
using namespace metal;
using namespace metalbench;

#if INDICES
using Sorted = SortedIndices;
using Output = uint;
#else
using Sorted = SortedElements<DTYPE>;
using Output = DTYPE;
#endif
using Keys = RadixKeys<(INDICES != 0)>;
using Input = Elements<DTYPE, (INDICES != 0)>;
using Pass = RadixPass<KEYS>;

[[kernel]] void count_first(device const DTYPE* x, device uint* counts, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kRadixDigits];
  const Pass pass = {cols, 0};
  pass.count_digits(Input{x + ulong(group.y) * cols}, pass.counts_of_row(counts, group.y), group.x,
                    bins, thread_index);
}

[[kernel]] void count_last(device uint* keys, device uint* indices, device uint* counts,
                           constant uint& rows, constant uint& cols,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kRadixDigits];
  const Pass pass = {cols, 8};
  pass.count_digits(Keys::of_pass(keys, indices, 1, rows, cols, group.y),
                    pass.counts_of_row(counts, group.y), group.x, bins, thread_index);
}

[[kernel, max_total_threads_per_threadgroup(512)]] void add_counts(
    device uint* counts, device uint* totals, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint sums[16][32];
  const Pass pass = {cols, 0};
  add_radix_counts(pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y,
                   pass.blocks(), 32 * group.x, sums, PLACE);
}

[[kernel]] void move_first(device const DTYPE* x, device uint* counts, device const uint* totals,
                           device uint* keys, device uint* indices, constant uint& rows,
                           constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                           PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 0};
  const ulong row = ulong(group.y) * cols;
  pass.move_keys(Input{x + row}, Keys::of_pass(keys, indices, 1, rows, cols, group.y),
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}

[[kernel]] void move_last(device uint* keys, device uint* indices, device uint* counts,
                          device const uint* totals, device Output* y, constant uint& rows,
                          constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                          PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 8};
  const ulong row = ulong(group.y) * cols;
  pass.move_keys(Keys::of_pass(keys, indices, 1, rows, cols, group.y), Sorted{y + row},
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}
