// Philox 4x32-10, a counter-based generator of random bits (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011): four words are a function of a counter and a key, so every
// thread draws its own without state or order.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

inline uint4 philox(uint4 counter, uint2 key) {
  for (uint round = 0; round < 10; ++round) {
    const uint even = 0xD2511F53u;
    const uint odd = 0xCD9E8D57u;
    counter = uint4(mulhi(odd, counter.z) ^ counter.y ^ key.x, odd * counter.z,
                    mulhi(even, counter.x) ^ counter.w ^ key.y, even * counter.x);
    key += uint2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

}  // namespace metalbench
