// Rows added to those of a table that indices name, any of them often: first each row of the table
// has its updates chained (an exchange of heads, the one atomic), then a thread puts its chain in
// ascending order, which it has nearly; a long one is chained again, by all threads of a threadgroup,
// so that time is bounded where all updates are of one row. Last, threads of a row add along it. A
// sum is in float, is rounded once, and its order is that of the updates: equal bits whichever thread
// came first.
// dispatch: clear  threads_in_grid=(rows)  threads=(TG)
// dispatch: chain  threads_in_grid=(updates)  threads=(TG)
// dispatch: order  threads_in_grid=(rows)  threads=(TG)
// dispatch: order_long  threadgroups=(min(64, ceil_div(rows, 256)))  threads=(256)
// dispatch: add  threads_in_grid=(ceil_div(cols, 4), rows)  threads=(TG, 1)
// scratch: heads uint32 (rows)
// scratch: following uint32 (updates)
// tune: TG = 64, 32, 128
// dtypes: float32, float16, bfloat16
// limits: updates <= 4294967294
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant uint END = UINT_MAX;
constant uint LONG = UINT_MAX - 1;
constant constexpr uint MOST = 64;
constant constexpr uint THREADS = 256;

[[kernel]] void clear(device uint* heads, uint row [[thread_position_in_grid]]) {
  heads[row] = END;
}

[[kernel]] void chain(device const uint* index, device atomic_uint* heads, device uint* following,
                      uint update [[thread_position_in_grid]]) {
  following[update] =
      atomic_exchange_explicit(&heads[index[update]], update, memory_order_relaxed);
}

// By insertion: what came last is met first and is most often less than all that follow, so that it
// goes in front at once. With more than MOST updates that would take too long: they are LONG.
[[kernel]] void order(device uint* heads, device uint* following,
                      uint row [[thread_position_in_grid]]) {
  uint first = END, count = 0;
  for (uint update = heads[row], next; update != END && count <= MOST; update = next, ++count) {
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
  heads[row] = count <= MOST ? first : LONG;
}

// Chains a row's updates in ascending order by looking at all updates: each thread at a part of
// them. Then the first thread links the parts.
static void chain_all(device const uint* index, device uint* heads, device uint* following,
                      uint updates, uint row, threadgroup uint2 (&ends)[THREADS], uint thread_index) {
  const uint part = (updates + THREADS - 1) / THREADS;
  const uint begin = min(updates, thread_index * part), end = min(updates, begin + part);
  uint first = END, last = END;
  for (uint update = begin; update < end; ++update) {
    if (index[update] == row) {
      if (last == END) {
        first = update;
      } else {
        following[last] = update;
      }
      last = update;
    }
  }
  ends[thread_index] = uint2(first, last);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    uint before = END;
    for (uint i = 0; i < THREADS; ++i) {
      if (ends[i].x != END) {
        if (before == END) {
          heads[row] = ends[i].x;
        } else {
          following[before] = ends[i].x;
        }
        before = ends[i].y;
      }
    }
    following[before] = END;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// At most updates / MOST rows are long, so that all of them together take fewer than
// updates^2 / (MOST * THREADS) steps of a thread.
[[kernel]] void order_long(device const uint* index, device uint* heads, device uint* following,
                           constant uint& rows, constant uint& updates,
                           uint group [[threadgroup_position_in_grid]],
                           uint groups [[threadgroups_per_grid]],
                           uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup uint2 ends[THREADS];
  threadgroup uint found[THREADS];
  threadgroup atomic_uint count;
  for (uint first = group * THREADS; first < rows; first += groups * THREADS) {
    if (thread_index == 0) {
      atomic_store_explicit(&count, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = first + thread_index;
    if (row < rows && heads[row] == LONG) {
      found[atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed)] = row;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    const uint all = atomic_load_explicit(&count, memory_order_relaxed);
    for (uint i = 0; i < all; ++i) {
      chain_all(index, heads, following, updates, found[i], ends, thread_index);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
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
