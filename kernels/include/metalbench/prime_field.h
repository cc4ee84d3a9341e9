// Arithmetic modulo a prime of a few hundred bits, a number by one thread: limbs of 32 bits in
// registers, the lowest first, and products by Montgomery's method (1985; word by word, as in Koc,
// Acar, Kaliski, 1996, "CIOS"). A number x stands for x R^-1, with R two to the power of all bits
// of the limbs. All indices are constants once loops are unrolled, and so is the prime.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// BN254 (Ethereum's alt_bn128, EIP-196): the prime of points' coordinates.
constant constexpr uint kBn254Base[8] = {0xd87cfd47, 0x3c208c16, 0x6871ca8d, 0x97816a91,
                                         0x8181585d, 0xb85045b6, 0xe131a029, 0x30644e72};
constant constexpr uint kBn254BaseOne[8] = {0xc58f0d9d, 0xd35d438d, 0xf5c70b3d, 0x0a78eb28,
                                            0x7879462c, 0x666ea36f, 0x9a07df2f, 0x0e0a77c1};
// The order of its group, the prime of scalars.
constant constexpr uint kBn254Scalar[8] = {0xf0000001, 0x43e1f593, 0x79b97091, 0x2833e848,
                                           0x8181585d, 0xb85045b6, 0xe131a029, 0x30644e72};
constant constexpr uint kBn254ScalarOne[8] = {0x4ffffffb, 0xac96341c, 0x9f60cd29, 0x36fc7695,
                                              0x7879462e, 0x666ea36f, 0x9a07df2f, 0x0e0a77c1};
// BLS12-381: the prime of points' coordinates.
constant constexpr uint kBls12Base[12] = {0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe,
                                          0xf6b0f624, 0x6730d2a0, 0xf38512bf, 0x64774b84,
                                          0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
constant constexpr uint kBls12BaseOne[12] = {0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b,
                                             0x53c758ba, 0x5f489857, 0x70525745, 0x77ce5853,
                                             0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};

// Each prime: how many limbs it has, those, R modulo the prime, which stands for 1, and -p^-1
// modulo 2^32. The two highest bits of a prime are 0. Whether products are loops over limbs: the
// code of many products, or of large ones, would not fit into the instruction cache.
struct Bn254Base {
  static constant constexpr uint kLimbs = 8;
  static constant constexpr bool kIsLoop = true;
  static uint prime(uint i) { return kBn254Base[i]; }
  static uint one(uint i) { return kBn254BaseOne[i]; }
  static uint inverse() { return 0xe4866389; }
};
struct Bn254Scalar {
  static constant constexpr uint kLimbs = 8;
  static constant constexpr bool kIsLoop = false;
  static uint prime(uint i) { return kBn254Scalar[i]; }
  static uint one(uint i) { return kBn254ScalarOne[i]; }
  static uint inverse() { return 0xefffffff; }
};
struct Bls12Base {
  static constant constexpr uint kLimbs = 12;
  static constant constexpr bool kIsLoop = true;
  static uint prime(uint i) { return kBls12Base[i]; }
  static uint one(uint i) { return kBls12BaseOne[i]; }
  static uint inverse() { return 0xfffcfffd; }
};

// The sum of two limbs and a carry, and the carry out of it, 0 or 1.
inline uint add_limbs(uint a, uint b, thread uint& carry) {
  // check: allow register-spill an addition of points has two of three numbers, and six products
  const ulong sum = ulong(a) + b + carry;
  carry = uint(sum >> 32);
  return uint(sum);
}

inline uint subtract_limbs(uint a, uint b, thread uint& borrow) {
  const ulong difference = ulong(a) - b - borrow;
  borrow = uint(difference >> 32) & 1;
  return uint(difference);
}

// The lower limb of a b + c + d, and the upper one, which is enough: none is above 2^32 - 1.
inline uint multiply_limbs(uint a, uint b, uint c, thread uint& carry) {
  // check: allow registers numbers of 256 bits and more are in the registers of one thread
  // check: allow instruction-footprint an addition of points has twelve products
  const ulong product = ulong(a) * b + c + carry;
  carry = uint(product >> 32);
  return uint(product);
}

template <typename Field>
struct Residue {
  static constant constexpr uint kLimbs = Field::kLimbs;
  uint limbs[kLimbs];

  static Residue load(device const uint* at) {
    Residue x;
    UNROLLED
    for (uint i = 0; i < kLimbs; i += 4) {
      // check: allow strided-access a thread takes all limbs of a number, as vectors
      const uint4 four = *(device const uint4*)(at + i);
      x.limbs[i] = four.x;
      x.limbs[i + 1] = four.y;
      x.limbs[i + 2] = four.z;
      x.limbs[i + 3] = four.w;
    }
    return x;
  }

  void store(device uint* at) const {
    UNROLLED
    for (uint i = 0; i < kLimbs; i += 4) {
      // check: allow strided-access a thread takes all limbs of a number, as vectors
      *(device uint4*)(at + i) = uint4(limbs[i], limbs[i + 1], limbs[i + 2], limbs[i + 3]);
    }
  }

  static Residue zero() {
    Residue x;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      x.limbs[i] = 0;
    }
    return x;
  }

  static Residue one() {
    Residue x;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      x.limbs[i] = Field::one(i);
    }
    return x;
  }

  bool is_zero() const {
    uint all = 0;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      all |= limbs[i];
    }
    return all == 0;
  }

  bool operator==(Residue y) const { return (*this - y).is_zero(); }

  // The number, which is below twice the prime, modulo the prime.
  INLINED Residue reduced() const {
    Residue less;
    uint borrow = 0;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      less.limbs[i] = subtract_limbs(limbs[i], Field::prime(i), borrow);
    }
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      less.limbs[i] = borrow != 0 ? limbs[i] : less.limbs[i];
    }
    return less;
  }

  // The sum, below twice the prime, which only products take. Both factors may be such sums: their
  // product is below twice the prime before it is reduced, as 4 p is below R.
  INLINED Residue unreduced_sum(Residue y) const {
    Residue sum;
    uint carry = 0;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      sum.limbs[i] = add_limbs(limbs[i], y.limbs[i], carry);
    }
    return sum;
  }

  INLINED Residue operator+(Residue y) const { return unreduced_sum(y).reduced(); }

  INLINED Residue operator-(Residue y) const {
    Residue difference;
    uint borrow = 0, carry = 0;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      difference.limbs[i] = subtract_limbs(limbs[i], y.limbs[i], borrow);
    }
    const uint mask = 0 - borrow;
    UNROLLED
    for (uint i = 0; i < kLimbs; ++i) {
      difference.limbs[i] = add_limbs(difference.limbs[i], Field::prime(i) & mask, carry);
    }
    return difference;
  }

  // x y R^-1. For each limb of x, x_i y is added and the lowest limb cleared by a multiple of the
  // prime. As a loop, x moves down by a limb in each turn, so that no index is computed.
  INLINED Residue operator*(Residue y) const {
    Residue sum = zero();
    if (Field::kIsLoop) {
      Residue x = *this;
      ROLLED
      for (uint i = 0; i < kLimbs; ++i) {
        sum.add_product(x.limbs[0], y);
        UNROLLED
        for (uint j = 1; j < kLimbs; ++j) {
          x.limbs[j - 1] = x.limbs[j];
        }
      }
    } else {
      UNROLLED
      for (uint i = 0; i < kLimbs; ++i) {
        sum.add_product(limbs[i], y);
      }
    }
    return sum.reduced();
  }

  // The inverse, as the power p - 2 (Fermat), bit by bit: lanes take the same way. 0 of 0.
  Residue inverse() const {
    Residue result = one();
    ROLLED
    for (uint i = kLimbs; i > 0; --i) {
      const uint limb = Field::prime(i - 1) - (i == 1 ? 2 : 0);
      ROLLED
      for (uint bit = 32; bit > 0; --bit) {
        result = result * result;
        if ((limb >> (bit - 1) & 1) != 0) {
          result = result * *this;
        }
      }
    }
    return result;
  }

 private:
  // (this + x y) / 2^32 modulo the prime, below twice the prime: it has a bit to spare, so that the
  // sum needs no limb more.
  INLINED void add_product(uint x, Residue y) {
    uint carry = 0;
    UNROLLED
    for (uint j = 0; j < kLimbs; ++j) {
      limbs[j] = multiply_limbs(x, y.limbs[j], limbs[j], carry);
    }
    const uint top = carry, times = limbs[0] * Field::inverse();
    carry = 0;
    multiply_limbs(times, Field::prime(0), limbs[0], carry);
    UNROLLED
    for (uint j = 1; j < kLimbs; ++j) {
      limbs[j - 1] = multiply_limbs(times, Field::prime(j), limbs[j], carry);
    }
    limbs[kLimbs - 1] = top + carry;
  }
};

}  // namespace metalbench
