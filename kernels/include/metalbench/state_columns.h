// Recurrences h = decay h + x b, y = c h, whose state has few columns: a thread has a row of it, in
// registers from the first step to the last, so that sums over columns need no other lane. What all
// rows of a head take, b and c, is the same for the threads of a SIMD-group. Others are in
// state_rows.h.
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

// A row of up to Most columns, a multiple of four.
template <uint Most>
struct StateColumns {
  static constant constexpr uint kQuads = Most / 4;
  float4 at[kQuads];

  INLINED void clear() {
    UNROLLED
    for (uint i = 0; i < kQuads; ++i) {
      at[i] = 0.0f;
    }
  }

  // this = decay * this + x * b
  INLINED void step(float decay, float x, device const float* b, uint columns) {
    UNROLLED
    for (uint i = 0; i < kQuads; ++i) {
      if (4 * i < columns) {
        at[i] = fma(at[i], decay, x * load_quad(b, 4 * i, columns));
      }
    }
  }

  INLINED float dot(device const float* c, uint columns) const {
    float4 sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < kQuads; ++i) {
      if (4 * i < columns) {
        sum = fma(at[i], load_quad(c, 4 * i, columns), sum);
      }
    }
    return total(sum);
  }

  INLINED void store(device float* to, uint columns) const {
    UNROLLED
    for (uint i = 0; i < kQuads; ++i) {
      UNROLLED
      for (uint j = 0; j < 4; ++j) {
        if (4 * i + j < columns) {
          // check: allow strided-access a state is stored once, behind all steps
          to[4 * i + j] = at[i][j];
        }
      }
    }
  }
};

}  // namespace metalbench
