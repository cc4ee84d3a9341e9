// The different values of each row in ascending order, how often each occurs, and how many there are: a
// radix sort (metalbench/radix_dispatches.h), after which equal values are neighbours; then the first
// of each run is marked, marks are numbered (metalbench/compaction.h), and lengths of runs are
// differences of where they begin. Places behind the last value become 0.
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
// dispatch: count_runs  threadgroups=(ceil_div(cols, 1024), rows)  threads=(256)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before, for a row
// dispatch: add_runs  threadgroups=(rows)  threads=(512)
// dispatch: place_runs  threadgroups=(ceil_div(cols, 1024), rows)  threads=(256)
// dispatch: measure_runs  threads_in_grid=(cols, rows)  threads=(256, 1)
// scratch: keys uint32 (2, rows, cols)
// scratch: indices uint32 (1)
// scratch: counts uint32 (rows, ceil_div(cols, 256 * KEYS), 256)
// scratch: totals uint32 (rows, 256)
// scratch: runs uint32 (rows, ceil_div(cols, 1024))
// scratch: starts uint32 (rows, cols)
// instance: int32 TYPE = 1, INDICES = 0
// instance: uint32 TYPE = 2, INDICES = 0
// tune: KEYS = 8, 4, 16
// limits: cols <= 4294963200
#include "metalbench/radix_dispatches.h"

constant constexpr uint THREADS = 256;

static uint run_blocks(uint cols) { return (cols - 1) / (4 * THREADS) + 1; }

[[kernel]] void move_last(device uint* keys, device uint* indices, device uint* counts,
                          device const uint* totals, constant uint& rows, constant uint& cols,
                          uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Pass::Memory memory;
  const Pass pass = {cols, 24};
  pass.move_keys(Keys::of_pass(keys, indices, 3, rows, cols, group.y),
                 Keys::of_pass(keys, indices, 4, rows, cols, group.y),
                 pass.counts_of_row(counts, group.y), totals + kRadixDigits * group.y, group.x,
                 memory, PLACE);
}

// The keys of a row in order, which the last pass has left in the second array.
static device const uint* sorted_row(device const uint* keys, uint rows, uint cols, uint row) {
  return keys + (ulong(rows) + row) * cols;
}

// Which of four sorted keys are the first of their run.
static bool4 first_of_runs(device const uint* keys, uint first, uint cols) {
  bool4 marks = false;
  uint before = first > 0 && first < cols ? keys[first - 1] : 0;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (first + i < cols) {
      const uint key = keys[first + i];
      marks[i] = first + i == 0 || key != before;
      before = key;
    }
  }
  return marks;
}

[[kernel]] void count_runs(device const uint* keys, device uint* runs, constant uint& rows,
                           constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                           PLACE_ARGUMENTS) {
  threadgroup uint sums[THREADS / 32];
  const bool4 marks = first_of_runs(sorted_row(keys, rows, cols, group.y),
                                    4 * (group.x * THREADS + thread_index), cols);
  const uint all = group_sum<THREADS / 32>(count_of(marks), sums, PLACE);
  if (thread_index == 0) {
    runs[group.y * run_blocks(cols) + group.x] = all;
  }
}

[[kernel, max_total_threads_per_threadgroup(512)]] void add_runs(
    device uint* runs, device uint* number, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint sums[2][16];
  const uint blocks = run_blocks(cols);
  const uint all = add_counts_before<512>(runs + row * blocks, blocks, sums, PLACE);
  if (thread_index == 0) {
    number[row] = all;
  }
}

[[kernel]] void place_runs(device const uint* keys, device const uint* runs, device uint* starts,
                           device Element* values, constant uint& rows, constant uint& cols,
                           uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint sums[THREADS / 32];
  const uint first = 4 * (group.x * THREADS + thread_index);
  device const uint* sorted = sorted_row(keys, rows, cols, group.y);
  const bool4 marks = first_of_runs(sorted, first, cols);
  const uint before = sum_of_threads_before<THREADS / 32>(count_of(marks), sums, PLACE);
  ulong at = ulong(group.y) * cols + runs[group.y * run_blocks(cols) + group.x] + before;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (marks[i]) {
      starts[at] = first + i;
      values[at] = OfRadixKey<Element>::element(sorted[first + i]);
      ++at;
    }
  }
}

[[kernel]] void measure_runs(device const uint* starts, device const uint* number,
                             device Element* values, device uint* lengths, constant uint& cols,
                             uint2 at [[thread_position_in_grid]]) {
  const uint all = number[at.y];
  const ulong i = ulong(at.y) * cols + at.x;
  if (at.x >= all) {
    values[i] = 0;
    lengths[i] = 0;
  } else {
    lengths[i] = (at.x + 1 < all ? starts[i + 1] : cols) - starts[i];
  }
}
