// Random words of Threefry 2x32 with twenty rounds (Salmon et al., 2011), numbered as MLX numbers
// them: of `count` words, j and j + half are those of the counter (j, j + half).
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

inline uint2 threefry(uint2 counter, uint2 key) {
  const uint keys[3] = {key.x, key.y, 0x1BD11BDAu ^ key.x ^ key.y};
  const uint rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint x = counter.x + keys[0], y = counter.y + keys[1];
  for (uint turn = 0; turn < 5; ++turn) {
    for (uint i = 0; i < 4; ++i) {
      x += y;
      y = rotate(y, rotations[turn % 2][i]) ^ x;
    }
    x += keys[(turn + 1) % 3];
    y += keys[(turn + 2) % 3] + turn + 1;
  }
  return uint2(x, y);
}

// Words j and j + half of `count`, j < half. Of an odd count the last counter has no second word.
inline uint2 threefry_words(uint j, uint count, uint first_key, uint second_key) {
  const uint half_count = (count + 1) / 2;
  const bool is_last = count % 2 == 1 && j == half_count - 1;
  return threefry(uint2(j, is_last ? 0 : j + half_count), {first_key, second_key});
}

inline uint threefry_word(uint i, uint count, uint first_key, uint second_key) {
  const uint half_count = (count + 1) / 2;
  const bool is_first = i < half_count;
  const uint j = is_first ? i : i - half_count;
  const uint2 words = threefry_words(j, count, first_key, second_key);
  return is_first ? words.x : words.y;
}

// In [0, 1): what a float of 24 bits can tell of a word.
inline float unit_of(uint word) { return min(float(word) / 4294967295.0f, 0x1.fffffep-1f); }

}  // namespace metalbench
