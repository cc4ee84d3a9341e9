// Random numbers of a distribution, the instance's, from Threefry's words: even over [0, 1), normal
// by the inverse of the error function, or Gumbel's, by which a largest logit is a sample. A thread
// makes both numbers of one counter, half an array apart.
// dispatch: draw  threads_in_grid=(ceil_div(count, 2), streams)  threads=(TG, 1)
// instance: random_uniform FUNCTION = 0
// instance: random_normal FUNCTION = 1
// instance: random_gumbel FUNCTION = 2
// tune: TG = 256, 64, 128, 512
#include "metalbench/elementary.h"
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

static float number_of(uint word) {
  const float u = unit_of(word);
  if (FUNCTION == 0) {
    return u;
  }
  if (FUNCTION == 1) {
    // Over (-1, 1), without what has no finite inverse.
    const float lowest = -0x1.fffffep-1f;
    return 1.41421356f * ErfInverse()(fma(u, 1.0f - lowest, lowest));
  }
  return -precise::log(-precise::log(u));
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void draw(
    device const uint* key, device float* y, constant int& count,
    uint2 place [[thread_position_in_grid]]) {
  device float* to = y + ulong(place.y) * uint(count);
  const uint j = place.x;
  const uint n = uint(count);
  const uint2 words = threefry_words(j, n, key[2 * place.y], key[2 * place.y + 1]);
  const uint other = j + (n + 1) / 2;
  to[j] = number_of(words.x);
  if (other < n) {
    to[other] = number_of(words.y);
  }
}
