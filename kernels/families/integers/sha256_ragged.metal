// SHA-256 of many messages of different lengths. A threadgroup sorts its messages by their numbers of
// blocks in its memory: lanes of a SIMD-group then have nearly equal work, while in the order of the
// input they would all wait for their longest message.
// dispatch: sha256_ragged  threadgroups=(ceil_div(messages, TG))  threads=(TG)
// tune: TG = 256, 64, 128, 512
// tune: HELD = 8, 0, 4
// defaults: cpu TG = 128, HELD = 0
#include "metalbench/sha256.h"
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sha256_ragged(
    device const uchar* x, device const uint* offsets, device uchar* y, constant uint& messages,
    constant uint& bytes, uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup ulong keys[TG < 32 * HELD ? 32 * HELD : TG];
  const uint count = min(uint(TG), messages - group * TG);
  const uint n = sorted_length<HELD>(count);
  for (uint i = thread_index; i < n; i += TG) {
    const uint message = group * TG + i;
    ulong key = ~ulong(0);
    if (i < count) {
      const uint length = offsets[message + 1] - offsets[message];
      key = ulong(sha256_blocks(length)) << 32 | message;
    }
    keys[i] = key;
  }
  bitonic_sort<HELD>(keys, n, thread_index, TG);
  if (thread_index < count) {
    const uint message = uint(keys[thread_index]);
    const uint end = min(offsets[message + 1], bytes), first = min(offsets[message], end);
    sha256_of(Message{x + first, end - first}).store(y + ulong(message) * 32);
  }
}
