// Rows of any length in ascending order, NaN last: four passes of a radix sort, eight bits of the
// elements' integers at a time (metalbench/radix.h). A pass is three dispatches: digits of blocks are
// counted, counts of the blocks before added, and keys moved to their places. Blocks are sorted in
// threadgroup memory first, so that neighbouring threads write neighbouring keys. With INDICES keys
// carry their columns along, and these are the result: where sorted elements come from.
// dispatch: count_first  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_first  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: count_second  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_second  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: count_third  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_third  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: count_last  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_last  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// scratch: keys uint32 (2, rows, cols)
// scratch: indices uint32 (1 + INDICES * 2 * rows * cols)
// scratch: counts uint32 (rows, ceil_div(cols, 256 * KEYS), 256)
// scratch: totals uint32 (rows, 256)
// instance: float32 TYPE = 0, INDICES = 0
// instance: int32 TYPE = 1, INDICES = 0
// instance: uint32 TYPE = 2, INDICES = 0
// instance: indices_float32 TYPE = 0, INDICES = 1
// instance: indices_int32 TYPE = 1, INDICES = 1
// tune: KEYS = 8, 4, 16
// limits: cols <= 4294963200
#include "metalbench/radix_dispatches.h"
using namespace metal;
using namespace metalbench;

#if INDICES
using Sorted = SortedIndices;
using Output = uint;
#else
using Sorted = SortedElements<Element>;
using Output = Element;
#endif

[[kernel]] void move_last(device uint* keys, device uint* indices, device uint* counts,
                          device const uint* totals, device Output* y, constant uint& rows,
                          constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                          PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 24};
  pass.move_keys(Keys::of_pass(keys, indices, 3, rows, cols, group.y),
                 Sorted{y + ulong(group.y) * cols}, pass.counts_of_row(counts, group.y),
                 totals + kRadixDigits * group.y, group.x, memory, PLACE);
}
