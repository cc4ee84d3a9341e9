// Logits of tokens that were there before are made less likely: divided by the penalty above zero,
// multiplied below. A token may be in the list often, but is penalised once: each thread of a row
// looks its logits up in a bitmap in threadgroup memory that the list was marked in, a block of the
// vocabulary at a time, so that nothing races and the result has no order.
// dispatch: repetition_penalty  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(128)
// tune: BLOCK = 16384, 4096, 8192, 32768
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void repetition_penalty(device const DTYPE* x, device const uint* seen, device DTYPE* y,
                                   constant uint& cols, constant uint& tokens,
                                   constant float& penalty,
                                   uint2 group [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup uint marks[BLOCK / 32];
  for (uint i = thread_index; i < BLOCK / 32; i += 128) {
    marks[i] = 0;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint first = group.x * BLOCK;
  for (uint i = thread_index; i < tokens; i += 128) {
    const uint token = seen[group.y * tokens + i];
    if (token >= first && token - first < BLOCK) {
      const uint at = token - first;
      // Words of which only this is atomic: a barrier is before it, and one behind it.
      atomic_fetch_or_explicit((threadgroup atomic_uint*)&marks[at / 32], 1u << (at % 32),
                               memory_order_relaxed);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint end = min(cols, first + BLOCK);
  const ulong start = ulong(group.y) * cols;
  for (uint column = first + 4 * thread_index; column < end; column += 4 * 128) {
    const uint at = column - first;
    const uint marked = marks[at / 32] >> (at % 32);
    const float4 v = load_quad(x + start, column, end);
    const bool4 mine = (uint4(marked) >> uint4(0, 1, 2, 3) & 1) != 0;
    const float4 less = select(v * penalty, v / penalty, v > 0.0f);
    store_quad(y + start, column, end, select(v, less, mine));
  }
}
