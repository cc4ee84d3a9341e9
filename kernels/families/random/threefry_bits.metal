// Random words by Threefry 2x32, those that MLX draws from the same key: a thread makes both words
// of one counter and stores them where they belong, half an array apart, so that lanes write
// neighbouring words in both places. Nothing depends on order or geometry.
// dispatch: threefry_bits  threads_in_grid=(ceil_div(count, 2), streams)  threads=(TG, 1)
// tune: TG = 256, 64, 128, 512
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void threefry_bits(
    device const uint* key, device uint* y, constant int& count,
    uint2 place [[thread_position_in_grid]]) {
  device uint* to = y + ulong(place.y) * uint(count);
  const uint j = place.x;
  const uint n = uint(count);
  const uint2 words = threefry_words(j, n, key[2 * place.y], key[2 * place.y + 1]);
  const uint other = j + (n + 1) / 2;
  to[j] = words.x;
  if (other < n) {
    to[other] = words.y;
  }
}
