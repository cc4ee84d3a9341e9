// Segments of rows, each in ascending order, NaN last: a radix sort of the row (radix_dispatches.h)
// whose keys carry their columns along, and two passes more by the numbers of segments. These are
// found from columns by bisection. Since passes are stable, each segment is in order at the end, and
// neither its length nor the number of short ones matters. The last pass fetches elements by column.
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
// dispatch: move_fourth  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: find_segments  threads_in_grid=(cols, rows)  threads=(256, 1)
// dispatch: count_low  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_low  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: count_high  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// dispatch: add_counts  threadgroups=(8, rows)  threads=(512)
// dispatch: move_high  threadgroups=(ceil_div(cols, 256 * KEYS), rows)  threads=(256)
// scratch: keys uint32 (2, rows, cols)
// scratch: indices uint32 (2, rows, cols)
// scratch: counts uint32 (rows, ceil_div(cols, 256 * KEYS), 256)
// scratch: totals uint32 (rows, 256)
// instance: float32 TYPE = 0, INDICES = 1
// instance: int32 TYPE = 1, INDICES = 1
// tune: KEYS = 8, 4, 16
// limits: cols <= 4294963200, segments <= 65536
#include "metalbench/radix_dispatches.h"

// Where sorted columns have their elements.
struct ElementsOfColumns {
  device const Element* x;
  device Element* y;
  void put_key(uint, uint) const {}
  void put_index(uint i, uint column) const { y[i] = x[column]; }
};

[[kernel]] void move_fourth(device uint* keys, device uint* indices, device uint* counts,
                            device const uint* totals, constant uint& rows, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 24};
  pass.move_keys(Keys::of_pass(keys, indices, 3, rows, cols, group.y),
                 Keys::of_pass(keys, indices, 4, rows, cols, group.y),
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}

// The new key of a column: the number of the last segment that begins at it or before.
[[kernel]] void find_segments(device uint* keys, device uint* indices, device const uint* offsets,
                              constant uint& rows, constant uint& cols, constant uint& segments,
                              uint2 at [[thread_position_in_grid]]) {
  const Keys sorted = Keys::of_pass(keys, indices, 4, rows, cols, at.y);
  device const uint* begins = offsets + ulong(at.y) * (segments + 1);
  const uint column = sorted.index(at.x);
  uint first = 0, end = segments;
  // Lanes differ by one step at most.
  while (end - first > 1) {
    const uint middle = (first + end) / 2;
    const bool is_before = begins[middle] <= column;
    first = is_before ? middle : first;
    end = is_before ? end : middle;
  }
  sorted.put_key(at.x, first);
}

template <uint Number>
[[kernel]] void count_segments(device uint* keys, device uint* indices, device uint* counts,
                               constant uint& rows, constant uint& cols,
                               uint2 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[kRadixDigits];
  const Pass pass = {cols, 8 * Number};
  pass.count_digits(Keys::of_pass(keys, indices, 4 + Number, rows, cols, group.y),
                    pass.counts_of_row(counts, group.y), group.x, bins, thread_index);
}
template [[host_name("count_low")]] [[kernel]] decltype(count_segments<0>) count_segments<0>;
template [[host_name("count_high")]] [[kernel]] decltype(count_segments<1>) count_segments<1>;

[[kernel]] void move_low(device uint* keys, device uint* indices, device uint* counts,
                         device const uint* totals, constant uint& rows, constant uint& cols,
                         uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 0};
  pass.move_keys(Keys::of_pass(keys, indices, 4, rows, cols, group.y),
                 Keys::of_pass(keys, indices, 5, rows, cols, group.y),
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}

[[kernel]] void move_high(device uint* keys, device uint* indices, device uint* counts,
                          device const uint* totals, device const Element* x, device Element* y,
                          constant uint& rows, constant uint& cols,
                          uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 8};
  const ulong row = ulong(group.y) * cols;
  pass.move_keys(Keys::of_pass(keys, indices, 5, rows, cols, group.y),
                 ElementsOfColumns{x + row, y + row}, pass.counts_of_row(counts, group.y),
                 totals + kRadixDigits * group.y, group.x, memory, PLACE);
}
