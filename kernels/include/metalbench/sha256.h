// SHA-256 of a message by one thread (FIPS 180-4). The state and 16 words of the message schedule
// are in registers: 16 rounds are unrolled, so that every index is a constant, and four turns of
// them are a loop, since 64 rounds would not fit into the instruction cache.
#pragma once
#include "metalbench/messages.h"

namespace metalbench {

constant constexpr uint kSha256Constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline uint rotate_right(uint word, uint by) { return rotate(word, 32 - by); }

// The hash of the blocks so far.
struct Sha256 {
  uint state[8];

  Sha256() {
    const uint first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      state[i] = first[i];
    }
  }

  // Adds a block of 16 words, whose first byte is in the highest bits. Overwrites the words.
  INLINED void add_block(thread uint (&words)[16]) {
    uint v[8];
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      v[i] = state[i];
    }
    ROLLED
    for (uint round = 0; round < 64; round += 16) {
      UNROLLED
      for (uint i = 0; i < 16; ++i) {
        if (round > 0) {
          const uint w1 = words[(i + 1) % 16], w14 = words[(i + 14) % 16];
          words[i] += (rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ (w1 >> 3)) +
                      words[(i + 9) % 16] +
                      (rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ (w14 >> 10));
        }
        // In each round the letters a to h move on by one: here the places do.
        const uint a = v[(16 - i) % 8], b = v[(17 - i) % 8], c = v[(18 - i) % 8];
        const uint e = v[(20 - i) % 8], f = v[(21 - i) % 8], g = v[(22 - i) % 8];
        const uint t = v[(23 - i) % 8] +
                       (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                       (g ^ (e & (f ^ g))) + kSha256Constants[round + i] + words[i];
        v[(19 - i) % 8] += t;
        v[(23 - i) % 8] = t + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                          ((a & b) | (c & (a | b)));
      }
    }
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      state[i] += v[i];
    }
  }

  // Stores the digest of a hash that has all blocks.
  void store(device uchar* digest) const {
    uint words[8];
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      words[i] = swap_bytes(state[i]);
    }
    store_digest(digest, words);
  }
};

// Blocks of a message with its padding: a byte, and eight with the number of bits.
inline uint sha256_blocks(uint length) { return length / 64 + (length % 64 < 56 ? 1 : 2); }

// The hash of a message, such as `Message`.
template <typename Bytes>
INLINED inline Sha256 sha256_of(Bytes message) {
  Sha256 hash;
  const uint blocks = sha256_blocks(message.length), whole = message.length / 64;
  // Lanes with messages of different lengths wait for the longest one: a kernel may sort them.
  for (uint block = 0; block < blocks; ++block) {
    uint words[16];
    const uint first = 64 * block;
    // check: allow divergent-branch the last two blocks at most are padded
    if (block < whole) {
      UNROLLED
      for (uint i = 0; i < 16; ++i) {
        words[i] = swap_bytes(message.whole_word(first + 4 * i));
      }
    } else {
      UNROLLED
      for (uint i = 0; i < 16; ++i) {
        words[i] = swap_bytes(message.padded_word(first + 4 * i, 0x80));
      }
      if (block == blocks - 1) {
        words[14] = message.length >> 29;
        words[15] = message.length << 3;
      }
    }
    hash.add_block(words);
  }
  return hash;
}

}  // namespace metalbench
