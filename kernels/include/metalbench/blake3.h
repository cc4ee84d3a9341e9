// BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020): chunks of 1024 bytes are the leaves of
// a binary tree. A compression is seven rounds of eight mixings of four words, all in registers.
#pragma once
#include "metalbench/hash_tree.h"

namespace metalbench {

constant constexpr uint kBlake3Key[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constant constexpr uint kBlake3Order[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
constant constexpr uint kBlake3ChunkStart = 1, kBlake3ChunkEnd = 2, kBlake3Parent = 4,
                        kBlake3Root = 8;
constant constexpr uint kBlake3Chunk = 1024;

INLINED inline void blake3_mix(thread uint (&v)[16], uint a, uint b, uint c, uint d, uint first,
                               uint second) {
  v[a] += v[b] + first;
  v[d] = rotate(v[d] ^ v[a], 16u);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 20u);
  v[a] += v[b] + second;
  v[d] = rotate(v[d] ^ v[a], 24u);
  v[c] += v[d];
  v[b] = rotate(v[b] ^ v[c], 25u);
}

// The chaining value behind a block of `length` bytes; `words` are in another order afterwards.
INLINED inline void blake3_compress(thread uint (&chaining)[8], thread uint (&words)[16],
                                    ulong counter, uint length, uint flags) {
  uint v[16];
  UNROLLED
  for (uint i = 0; i < 8; ++i) {
    v[i] = chaining[i];
  }
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    v[8 + i] = kBlake3Key[i];
  }
  v[12] = uint(counter);
  v[13] = uint(counter >> 32);
  v[14] = length;
  v[15] = flags;
  UNROLLED
  for (uint round = 0; round < 7; ++round) {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      blake3_mix(v, i, 4 + i, 8 + i, 12 + i, words[2 * i], words[2 * i + 1]);
    }
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      blake3_mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, words[8 + 2 * i],
                 words[9 + 2 * i]);
    }
    uint next[16];
    UNROLLED
    for (uint i = 0; i < 16; ++i) {
      next[i] = words[kBlake3Order[i]];
    }
    UNROLLED
    for (uint i = 0; i < 16; ++i) {
      words[i] = next[i];
    }
  }
  UNROLLED
  for (uint i = 0; i < 8; ++i) {
    chaining[i] = v[i] ^ v[8 + i];
  }
}

// The chaining value of a chunk, of 1 to 1024 bytes; `is_root` if there is no other chunk.
INLINED inline HashNode blake3_chunk(Message bytes, ulong chunk, bool is_root) {
  const uint length = bytes.length;
  HashNode node;
  UNROLLED
  for (uint i = 0; i < 8; ++i) {
    node.words[i] = kBlake3Key[i];
  }
  // The last chunk alone has fewer blocks.
  for (uint first = 0; first < length; first += 64) {
    uint words[16];
    const bool is_last = first + 64 >= length;
    // check: allow divergent-branch the last block of the last chunk alone is not full
    if (first + 64 <= length) {
      UNROLLED
      for (uint i = 0; i < 16; ++i) {
        words[i] = bytes.whole_word(first + 4 * i);
      }
    } else {
      UNROLLED
      for (uint i = 0; i < 16; ++i) {
        words[i] = bytes.padded_word(first + 4 * i, 0);
      }
    }
    const uint flags = (first == 0 ? kBlake3ChunkStart : 0) | (is_last ? kBlake3ChunkEnd : 0) |
                       (is_last && is_root ? kBlake3Root : 0);
    blake3_compress(node.words, words, chunk, min(64u, length - first), flags);
  }
  return node;
}

// What joins two nodes of the tree.
struct Blake3Join {
  INLINED HashNode operator()(HashNode left, HashNode right, bool is_root) const {
    HashNode node;
    uint words[16];
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      node.words[i] = kBlake3Key[i];
      words[i] = left.words[i];
      words[8 + i] = right.words[i];
    }
    blake3_compress(node.words, words, 0, 64, kBlake3Parent | (is_root ? kBlake3Root : 0));
    return node;
  }
};

}  // namespace metalbench
