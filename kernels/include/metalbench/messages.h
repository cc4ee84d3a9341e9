// Messages of bytes, at any address, as words of 32 bits for hash functions.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

inline uint swap_bytes(uint word) { return as_type<uint>(as_type<uchar4>(word).wzyx); }

// Four bytes, the first in the lowest bits. Apple's GPUs load them at once from any address.
inline uint word_at(device const uchar* bytes) {
  // check: allow strided-access a thread reads a message, and each line of memory as a whole
  return as_type<uint>(uchar4(*(device const packed_uchar4*)bytes));
}

// A message of `length` bytes, by words: those from byte `first` on.
struct Message {
  device const uchar* bytes;
  uint length;

  uint whole_word(uint first) const { return word_at(bytes + first); }

  // The byte `end` follows the message, and then zeros.
  uint padded_word(uint first, uint end) const {
    if (first + 4 <= length) {
      return word_at(bytes + first);
    }
    uint word = 0;
    for (uint i = 0; i < 4 && first + i <= length; ++i) {
      // check: allow strided-access the last word of a message alone is read byte by byte
      word |= (first + i < length ? uint(bytes[first + i]) : end) << 8 * i;
    }
    return word;
  }
};

// A message behind a byte that is not in memory; `length` counts it.
struct MarkedMessage {
  device const uchar* bytes;
  uint length;
  uint mark;

  uint whole_word(uint first) const {
    return first > 0 ? word_at(bytes + first - 1) : first_word(4, 0);
  }

  uint padded_word(uint first, uint end) const {
    return first > 0 ? Message{bytes, length - 1}.padded_word(first - 1, end)
                     : first_word(min(length, 4u), end);
  }

 private:
  uint first_word(uint count, uint end) const {
    uint word = mark;
    for (uint i = 1; i < 4 && i <= count; ++i) {
      // check: allow strided-access the first word of a message alone is read byte by byte
      word |= (i < count ? uint(bytes[i - 1]) : end) << 8 * i;
    }
    return word;
  }
};

// Store the eight words of a digest, the first byte from the lowest bits.
inline void store_digest(device uchar* digest, thread const uint (&words)[8]) {
  device uint4* to = (device uint4*)digest;
  to[0] = uint4(words[0], words[1], words[2], words[3]);
  to[1] = uint4(words[4], words[5], words[6], words[7]);
}

}  // namespace metalbench
