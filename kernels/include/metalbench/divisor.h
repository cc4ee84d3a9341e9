// Quotients and remainders by a number that is known at run time only. GPUs have no instruction for
// them; with the inverse of the divisor a quotient takes five. The inverse takes a division: it
// belongs before the loops.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

struct Divisor {
  uint value;
  uint inverse;

  // The quotient by 0 is never asked for.
  INLINED static Divisor of(uint value) { return {value, UINT_MAX / max(value, 1u)}; }

  // The inverse is (2^32 - 1 - r) / value with r < value, so that k inverse / 2^32 is the quotient
  // less k (1 + r) / (2^32 value), which is less than 1: the estimate is right or one too small.
  INLINED uint quotient(uint k) const {
    const uint estimate = mulhi(k, inverse);
    return estimate + uint(k - estimate * value >= value);
  }
};

// A position in rows of `width` elements that moves by the same distance in each iteration of a
// loop: its row and column are carried, not divided for.
struct RowColumn {
  uint row;
  uint column;

  INLINED static RowColumn of(uint position, uint width) {
    const uint row = position / max(width, 1u);
    return {row, position - row * width};
  }
  INLINED RowColumn after(RowColumn distance, uint width) const {
    const uint end = column + distance.column;
    const bool is_next = end >= width;
    return {row + distance.row + uint(is_next), end - (is_next ? width : 0)};
  }
};

}  // namespace metalbench
