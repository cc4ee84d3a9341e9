// Gradient of an embedding: row v of the result is the sum of the gradients of all tokens that are
// v. A threadgroup owns ROWS rows of the table, and looks through all tokens, four a thread at a
// time: those of its rows are listed in their order, and each thread adds its four columns of their
// gradients. So each sum has one owner and one order, without atomics and without a sort. Tokens are
// read as often as the table has blocks of rows, from the cache.
// dispatch: embedding_gradient  threadgroups=(ceil_div(dims, 4 * TG), ceil_div(vocabulary, ROWS))  threads=(TG)
// tune: TG = 128, 32, 64
// tune: ROWS = 4, 2, 8
// defaults: cpu TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/compaction.h"
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void embedding_gradient(
    device const uint* token, device const DTYPE* dy, device DTYPE* dtable, constant uint& tokens,
    constant uint& vocabulary, constant uint& dims, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup float4 sums[ROWS][TG];
  threadgroup uint2 found[4 * TG];  // token, row
  threadgroup uint counts[2][TG / 32];
  const uint column = 4 * (group.x * TG + thread_index);
  const uint first_row = group.y * ROWS;
  UNROLLED
  for (uint i = 0; i < ROWS; ++i) {
    sums[i][thread_index] = 0.0f;
  }
  uint set = 0;
  for (uint begin = 0; begin < tokens; begin += 4 * TG) {
    const uint first = begin + 4 * thread_index;
    uint4 row = UINT_MAX;
    for (uint i = 0; i < 4; ++i) {
      if (first + i < tokens) {
        row[i] = token[first + i] - first_row;
      }
    }
    const bool4 is_own = row < uint4(ROWS);
    uint at = sum_of_threads_before<TG / 32>(count_of(is_own), counts[set], PLACE);
    for (uint i = 0; i < 4; ++i) {
      if (is_own[i]) {
        found[at++] = uint2(first + i, row[i]);
      }
    }
    uint all = 0;
    for (uint i = 0; i < TG / 32; ++i) {
      all += counts[set][i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (column < dims) {
      for (uint i = 0; i < all; ++i) {
        const uint2 own = found[i];
        sums[own.y][thread_index] += load_quad(dy + ulong(own.x) * dims, column, dims);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    set ^= 1;
  }
  if (column < dims) {
    const uint rows = min(uint(ROWS), vocabulary - first_row);
    device DTYPE* to = dtable + ulong(first_row) * dims;
    for (uint i = 0; i < rows; ++i, to += dims) {
      store_quad(to, column, dims, sums[i][thread_index]);
    }
  }
}
