// Threefry 2x32-20, a counter-based generator of random bits (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011), with counters as MLX and JAX lay them out: of n words, word
// j and word j + ceil(n / 2) are the two halves of counter (j, j + ceil(n / 2)), whose second part
// is 0 where there is no such word.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

inline uint2 threefry(uint2 key, uint2 counter) {
  const uint keys[3] = {key.x, key.y, key.x ^ key.y ^ 0x1BD11BDAu};
  const uint turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint2 v = counter + key;
  for (uint group = 0; group < 5; ++group) {
    for (uint i = 0; i < 4; ++i) {
      v.x += v.y;
      v.y = rotate(v.y, turns[group % 2][i]) ^ v.x;
    }
    v += uint2(keys[(group + 1) % 3], keys[(group + 2) % 3] + group + 1);
  }
  return v;
}

// Words `j` and j + ceil(n / 2) of n.
inline uint2 random_words(device const uint* key, uint j, uint n) {
  const uint other = j + (n + 1) / 2;
  return threefry(uint2(key[0], key[1]), uint2(j, other < n ? other : 0));
}

// Word `j` of n.
inline uint random_word(device const uint* key, uint j, uint n) {
  const uint half_of = (n + 1) / 2;
  return j < half_of ? random_words(key, j, n).x : random_words(key, j - half_of, n).y;
}

// In [0, 1): what a float of 24 bits can tell of a word.
inline float unit_of(uint word) { return min(float(word) / 4294967295.0f, 0x1.fffffep-1f); }

}  // namespace metalbench
