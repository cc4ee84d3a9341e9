// The dispatches of a radix sort of rows of 32-bit elements but the last one, which stores what a
// kernel wants of them (radix.h). Macros say what is sorted: TYPE is 0 for float, 1 for int and 2
// for uint, INDICES is 1 if keys carry their columns along, and KEYS is how many a thread has. In
// order:
//   count_first, add_counts, move_first, count_second, add_counts, move_second, count_third,
//   add_counts, move_third, count_last, add_counts, and the kernel's last pass from
//   Keys::of_pass(keys, indices, 3, ...).
#pragma once
#include "metalbench/radix.h"

namespace metalbench {

#if TYPE == 0
using Element = float;
#elif TYPE == 1
using Element = int;
#else
using Element = uint;
#endif
using Keys = RadixKeys<(INDICES != 0)>;
using Input = Elements<Element, (INDICES != 0)>;
using Pass = RadixPass<KEYS>;

}  // namespace metalbench

// Entry points have no namespace: `// dispatch:` lines name them.
using namespace metal;
using namespace metalbench;

[[kernel]] void count_first(device const Element* x, device uint* counts, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kRadixDigits];
  const Pass pass = {cols, 0};
  pass.count_digits(Input{x + ulong(group.y) * cols}, pass.counts_of_row(counts, group.y), group.x,
                    bins, thread_index);
}

[[kernel]] void move_first(device const Element* x, device uint* counts, device const uint* totals,
                           device uint* keys, device uint* indices, constant uint& rows,
                           constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                           PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 0};
  pass.move_keys(
      Input{x + ulong(group.y) * cols}, Keys::of_pass(keys, indices, 1, rows, cols, group.y),
      pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x, memory, PLACE);
}

template <uint Number>
[[kernel]] void count_keys(device uint* keys, device uint* indices, device uint* counts,
                           constant uint& rows, constant uint& cols,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kRadixDigits];
  const Pass pass = {cols, 8 * Number};
  pass.count_digits(Keys::of_pass(keys, indices, Number, rows, cols, group.y),
                    pass.counts_of_row(counts, group.y), group.x, bins, thread_index);
}
template [[host_name("count_second")]] [[kernel]] decltype(count_keys<1>) count_keys<1>;
template [[host_name("count_third")]] [[kernel]] decltype(count_keys<2>) count_keys<2>;
template [[host_name("count_last")]] [[kernel]] decltype(count_keys<3>) count_keys<3>;

[[kernel, max_total_threads_per_threadgroup(512)]] void add_counts(
    device uint* counts, device uint* totals, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint sums[16][32];
  const Pass pass = {cols, 0};
  add_radix_counts(pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y,
                   pass.blocks(), 32 * group.x, sums, PLACE);
}

template <uint Number>
[[kernel]] void move_keys(device uint* keys, device uint* indices, device uint* counts,
                          device const uint* totals, constant uint& rows, constant uint& cols,
                          uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 8 * Number};
  pass.move_keys(Keys::of_pass(keys, indices, Number, rows, cols, group.y),
                 Keys::of_pass(keys, indices, Number + 1, rows, cols, group.y),
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}
template [[host_name("move_second")]] [[kernel]] decltype(move_keys<1>) move_keys<1>;
template [[host_name("move_third")]] [[kernel]] decltype(move_keys<2>) move_keys<2>;
