// Keccak-f[1600] and the sponge for digests of 32 bytes (FIPS 202), a message by one thread. The 25
// lanes of the state are in registers: steps of a round are unrolled, so that every index is a
// constant, and the 24 rounds are a loop.
#pragma once
#include "metalbench/messages.h"

namespace metalbench {

constant constexpr ulong kKeccakConstants[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// Steps rho and pi move a lane to the place of the next one, and rotate it: one cycle of 24 lanes.
constant constexpr uint kKeccakPlaces[24] = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                                             15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};

// Lane (x, y) is number 5 y + x.
INLINED inline void keccak_permute(thread ulong (&a)[25]) {
  ROLLED
  for (uint round = 0; round < 24; ++round) {
    ulong parity[5];
    UNROLLED
    for (uint x = 0; x < 5; ++x) {
      parity[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    UNROLLED
    for (uint x = 0; x < 5; ++x) {
      const ulong sum = parity[(x + 4) % 5] ^ rotate(parity[(x + 1) % 5], ulong(1));
      UNROLLED
      for (uint y = 0; y < 25; y += 5) {
        a[x + y] ^= sum;
      }
    }
    ulong moved = a[1];
    UNROLLED
    for (uint i = 0; i < 24; ++i) {
      const ulong next = a[kKeccakPlaces[i]];
      a[kKeccakPlaces[i]] = rotate(moved, ulong((i + 1) * (i + 2) / 2 % 64));
      moved = next;
    }
    UNROLLED
    for (uint y = 0; y < 25; y += 5) {
      const ulong first = a[y], second = a[y + 1];
      UNROLLED
      for (uint x = 0; x < 5; ++x) {
        const ulong b = x < 4 ? a[y + (x + 1) % 5] : first;
        const ulong c = x < 3 ? a[y + (x + 2) % 5] : x == 3 ? first : second;
        // check: allow registers the state alone has 50, and a message has one thread
        a[y + x] ^= ~b & c;
      }
    }
    a[0] ^= kKeccakConstants[round];
  }
}

// The bytes of a message that one permutation takes: all of the state but twice a digest.
constant constexpr uint kKeccakRate = 136;

// Stores the digest of a message. `suffix` is the first byte of the padding: 6 for SHA3-256, 1 for
// Keccak-256 as Ethereum has it.
INLINED inline void store_keccak(Message message, uint suffix, device uchar* digest) {
  ulong state[25];
  UNROLLED
  for (uint i = 0; i < 25; ++i) {
    state[i] = 0;
  }
  uint first = 0;
  for (; first + kKeccakRate <= message.length; first += kKeccakRate) {
    UNROLLED
    for (uint i = 0; i < kKeccakRate / 8; ++i) {
      const uint at = first + 8 * i;
      state[i] ^= as_type<ulong>(uint2(message.whole_word(at), message.whole_word(at + 4)));
    }
    keccak_permute(state);
  }
  UNROLLED
  for (uint i = 0; i < kKeccakRate / 8; ++i) {
    const uint at = first + 8 * i;
    state[i] ^=
        as_type<ulong>(uint2(message.padded_word(at, suffix), message.padded_word(at + 4, suffix)));
  }
  state[kKeccakRate / 8 - 1] ^= ulong(1) << 63;
  keccak_permute(state);
  uint words[8];
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint2 halves = as_type<uint2>(state[i]);
    words[2 * i] = halves.x;
    words[2 * i + 1] = halves.y;
  }
  store_digest(digest, words);
}

}  // namespace metalbench
