// Elements of rows that become the largest, or the smallest, of those of all updates of their row:
// y = x, then y[index[i]] = max(y[index[i]], values[i]). Metal has no atomic maximum of floats, so that
// elements become integers of the same order (metalbench/sort.h) and turn back at the end. The
// largest is the same in any order.
// dispatch: to_keys  threads_in_grid=(cols, rows)  threads=(TG, 1)
// dispatch: update  threads_in_grid=(cols, updates)  threads=(TG, 1)
// dispatch: from_keys  threads_in_grid=(cols, rows)  threads=(TG, 1)
// scratch: keys uint32 (rows, cols)
// instance: largest SMALLEST = 0
// instance: smallest SMALLEST = 1
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

// The largest of complements is that of the smallest.
static uint key_of(DTYPE v) { return SMALLEST ? ~signed_sort_key(v) : signed_sort_key(v); }

[[kernel]] void to_keys(device const DTYPE* x, device uint* keys, constant uint& cols,
                        uint2 at [[thread_position_in_grid]]) {
  const ulong place = ulong(at.y) * cols + at.x;
  keys[place] = key_of(x[place]);
}

[[kernel]] void update(device const DTYPE* values, device const uint* index,
                       device atomic_uint* keys, constant uint& cols,
                       uint2 at [[thread_position_in_grid]]) {
  const uint key = key_of(values[ulong(at.y) * cols + at.x]);
  atomic_fetch_max_explicit(&keys[ulong(index[at.y]) * cols + at.x], key, memory_order_relaxed);
}

[[kernel]] void from_keys(device const uint* keys, device DTYPE* y, constant uint& cols,
                          uint2 at [[thread_position_in_grid]]) {
  const ulong place = ulong(at.y) * cols + at.x;
  y[place] = of_signed_sort_key<DTYPE>(SMALLEST ? ~keys[place] : keys[place]);
}
