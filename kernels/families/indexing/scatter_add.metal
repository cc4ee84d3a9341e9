// Rows added to those of a table that indices name, any of them often: first each row of the table
// has its updates chained (an exchange of heads, the one atomic), then a thread puts its chain in
// ascending order, which it has nearly; last, threads of a row add along it. A sum is in float, is
// rounded once, and its order is that of the updates: equal bits whichever thread came first.
// dispatch: clear  threads_in_grid=(rows)  threads=(TG)
// dispatch: chain  threads_in_grid=(updates)  threads=(TG)
// dispatch: order  threads_in_grid=(rows)  threads=(TG)
// dispatch: add  threads_in_grid=(ceil_div(cols, 4), rows)  threads=(TG, 1)
// scratch: heads uint32 (rows)
// scratch: following uint32 (updates)
// tune: TG = 64, 32, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant uint END = UINT_MAX;

[[kernel]] void clear(device uint* heads, uint row [[thread_position_in_grid]]) {
  heads[row] = END;
}

[[kernel]] void chain(device const uint* index, device atomic_uint* heads, device uint* following,
                      uint update [[thread_position_in_grid]]) {
  following[update] =
      atomic_exchange_explicit(&heads[index[update]], update, memory_order_relaxed);
}

// By insertion: what came last is met first and is most often less than all that follow, so that it
// goes in front at once.
[[kernel]] void order(device uint* heads, device uint* following,
                      uint row [[thread_position_in_grid]]) {
  uint first = END;
  for (uint update = heads[row], next; update != END; update = next) {
    next = following[update];
    uint before = END;
    uint after = first;
    while (after < update) {
      before = after;
      after = following[after];
    }
    following[update] = after;
    if (before == END) {
      first = update;
    } else {
      following[before] = update;
    }
  }
  heads[row] = first;
}

[[kernel]] void add(device const DTYPE* x, device const DTYPE* values, device const uint* heads,
                    device const uint* following, device DTYPE* y, constant uint& cols,
                    uint2 at [[thread_position_in_grid]]) {
  const ulong row = ulong(at.y) * cols;
  float4 sum = load_quad(x + row, 4 * at.x, cols);
  for (uint update = heads[at.y]; update != END; update = following[update]) {
    sum += load_quad(values + ulong(update) * cols, 4 * at.x, cols);
  }
  store_quad(y + row, 4 * at.x, cols, sum);
}
