// The largest elements of rows of any length, in descending order, and where they come from; of equal
// ones those that come first. The smallest key among them is found eight bits at a time, by counts of
// digits of all keys that agree with what is known of it: a threadgroup counts a block in its
// memory, one adds the counts of all blocks. Then keys above it are collected, and as many equal ones
// as there is room for, in order of their columns (metalbench/compaction.h); one threadgroup a row
// sorts them. Rows are read six times, and not sorted.
// dispatch: count_first  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it adds counts of each threadgroup of the dispatch before, for a row
// dispatch: choose_first  threadgroups=(rows)  threads=(256)
// dispatch: count_second  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it adds counts of each threadgroup of the dispatch before, for a row
// dispatch: choose_second  threadgroups=(rows)  threads=(256)
// dispatch: count_third  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it adds counts of each threadgroup of the dispatch before, for a row
// dispatch: choose_third  threadgroups=(rows)  threads=(256)
// dispatch: count_last  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it adds counts of each threadgroup of the dispatch before, for a row
// dispatch: choose_last  threadgroups=(rows)  threads=(256)
// dispatch: count_marks  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it adds counts of each threadgroup of the dispatch before, for a row
// dispatch: add_marks  threadgroups=(rows)  threads=(256)
// dispatch: collect  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(256)
// check: allow few-threadgroups it sorts the few elements that are found
// dispatch: sort_found  threadgroups=(rows)  threads=(256)
// scratch: counts uint32 (rows, ceil_div(cols, BLOCK), 256)
// scratch: cuts uint32 (rows, 2)
// scratch: above uint32 (rows, ceil_div(cols, BLOCK))
// scratch: equal uint32 (rows, ceil_div(cols, BLOCK))
// scratch: found uint64 (rows, k)
// tune: BLOCK = 16384, 4096, 65536
// tune: HELD = 8, 0, 4
// defaults: cpu HELD = 0
// dtypes: float32, float16, bfloat16
// limits: k <= 2048, k <= cols, cols <= 4294901760
#include "metalbench/compaction.h"
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint THREADS = 256;
constant constexpr uint MOST = 2048;

// What is known of the smallest key of a row's result: its bits from the highest on, and how many of
// the keys with these bits are in the result.
struct Cut {
  uint key;
  uint rank;
};

static uint blocks_of(uint cols) { return (cols - 1) / BLOCK + 1; }

// Digits are the eight bits from Shift on, of keys with the higher bits of the cut.
template <uint Shift>
[[kernel]] void count(device const DTYPE* x, device const Cut* cuts, device uint* counts,
                      constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[THREADS];
  atomic_store_explicit(&bins[thread_index], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device const DTYPE* row = x + ulong(group.y) * cols;
  const uint known = Shift < 24 ? cuts[group.y].key >> (Shift + 7) >> 1 : 0;
  const uint end = min(cols - group.x * BLOCK, uint(BLOCK)) + group.x * BLOCK;
  for (uint column = group.x * BLOCK + thread_index; column < end; column += THREADS) {
    const uint key = sort_key(row[column]);
    if ((key >> (Shift + 7) >> 1) == known) {
      atomic_fetch_add_explicit(&bins[key >> Shift & 255], 1u, memory_order_relaxed);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  counts[(ulong(group.y) * blocks_of(cols) + group.x) * THREADS + thread_index] =
      atomic_load_explicit(&bins[thread_index], memory_order_relaxed);
}
template [[host_name("count_first")]] [[kernel]] decltype(count<24>) count<24>;
template [[host_name("count_second")]] [[kernel]] decltype(count<16>) count<16>;
template [[host_name("count_third")]] [[kernel]] decltype(count<8>) count<8>;
template [[host_name("count_last")]] [[kernel]] decltype(count<0>) count<0>;

// A thread a digit, the highest first: the one of the cut has the key of that rank.
template <uint Shift>
[[kernel]] void choose(device const uint* counts, device Cut* cuts, constant uint& cols,
                       constant int& k, uint row [[threadgroup_position_in_grid]],
                       PLACE_ARGUMENTS) {
  threadgroup uint sums[THREADS / 32];
  const uint digit = THREADS - 1 - thread_index, blocks = blocks_of(cols);
  device const uint* of_digit = counts + ulong(row) * blocks * THREADS + digit;
  uint own = 0;
  for (uint block = 0; block < blocks; ++block) {
    own += of_digit[block * THREADS];
  }
  const uint before = sum_of_threads_before<THREADS / 32>(own, sums, PLACE);
  const Cut known = Shift < 24 ? cuts[row] : Cut{0, uint(k)};
  // One thread replaces what all have read.
  threadgroup_barrier(mem_flags::mem_device);
  if (before < known.rank && known.rank <= before + own) {
    cuts[row] = {known.key | digit << Shift, known.rank - before};
  }
}
template [[host_name("choose_first")]] [[kernel]] decltype(choose<24>) choose<24>;
template [[host_name("choose_second")]] [[kernel]] decltype(choose<16>) choose<16>;
template [[host_name("choose_third")]] [[kernel]] decltype(choose<8>) choose<8>;
template [[host_name("choose_last")]] [[kernel]] decltype(choose<0>) choose<0>;

[[kernel]] void count_marks(device const DTYPE* x, device const Cut* cuts, device uint* above,
                            device uint* equal, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint2 partial[THREADS / 32];
  device const DTYPE* row = x + ulong(group.y) * cols;
  const uint cut = cuts[group.y].key;
  const uint end = min(cols - group.x * BLOCK, uint(BLOCK)) + group.x * BLOCK;
  uint2 marks = 0;
  for (uint column = group.x * BLOCK + thread_index; column < end; column += THREADS) {
    const uint key = sort_key(row[column]);
    marks += uint2(key > cut ? 1 : 0, key == cut ? 1 : 0);
  }
  const uint2 all = group_sum<THREADS / 32>(marks, partial, PLACE);
  if (thread_index == 0) {
    above[group.y * blocks_of(cols) + group.x] = all.x;
    equal[group.y * blocks_of(cols) + group.x] = all.y;
  }
}

[[kernel]] void add_marks(device uint* above, device uint* equal, constant uint& cols,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup uint sums[2][2][THREADS / 32];
  const uint blocks = blocks_of(cols);
  add_counts_before<THREADS>(above + row * blocks, blocks, sums[0], PLACE);
  add_counts_before<THREADS>(equal + row * blocks, blocks, sums[1], PLACE);
}

// Keys in reverse order above their columns: a sort in ascending order is then what is wanted.
[[kernel]] void collect(device const DTYPE* x, device const Cut* cuts, device const uint* above,
                        device const uint* equal, device ulong* found, constant uint& cols,
                        constant int& k, uint2 group [[threadgroup_position_in_grid]],
                        PLACE_ARGUMENTS) {
  threadgroup uint sums[2][2][THREADS / 32];
  device const DTYPE* row = x + ulong(group.y) * cols;
  const Cut cut = cuts[group.y];
  const uint count = uint(k) - cut.rank, block = group.y * blocks_of(cols) + group.x;
  uint next_above = above[block], next_equal = equal[block], set = 0;
  const uint begin = group.x * BLOCK, end = min(cols - begin, uint(BLOCK)) + begin;
  // Blocks without any are most of them.
  const uint last_above = group.x + 1 < blocks_of(cols) ? above[block + 1] : count;
  if (next_above == last_above && next_equal >= cut.rank) {
    return;
  }
  for (uint first = begin; first < end; first += THREADS) {
    const uint column = first + thread_index;
    const uint key = column < end ? sort_key(row[column]) : 0;
    const bool is_above = column < end && key > cut.key;
    const bool is_equal = column < end && key == cut.key;
    const uint at = sum_of_threads_before<THREADS / 32>(is_above ? 1 : 0, sums[set][0], PLACE);
    const uint same = sum_of_threads_before<THREADS / 32>(is_equal ? 1 : 0, sums[set][1], PLACE);
    const uint place = is_above ? next_above + at : count + next_equal + same;
    if (is_above || (is_equal && next_equal + same < cut.rank)) {
      found[ulong(group.y) * uint(k) + place] = ulong(~key) << 32 | column;
    }
    for (uint i = 0; i < THREADS / 32; ++i) {
      next_above += sums[set][0][i];
      next_equal += sums[set][1][i];
    }
    set ^= 1;
  }
}

[[kernel]] void sort_found(device const DTYPE* x, device const ulong* found, device DTYPE* y,
                           device uint* indices, constant uint& cols, constant int& k,
                           uint row [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup ulong keys[MOST];
  const uint n = sorted_length<HELD>(uint(k));
  for (uint i = thread_index; i < n; i += THREADS) {
    keys[i] = i < uint(k) ? found[ulong(row) * uint(k) + i] : ~ulong(0);
  }
  bitonic_sort<HELD>(keys, n, thread_index, THREADS);
  for (uint i = thread_index; i < uint(k); i += THREADS) {
    const uint column = uint(keys[i]);
    y[ulong(row) * uint(k) + i] = x[ulong(row) * cols + column];
    indices[ulong(row) * uint(k) + i] = column;
  }
}
