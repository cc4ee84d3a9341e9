// Powers of two by the GPU's own unit, whose error is at most 2^-22.5 (PTX ISA, ex2.approx.f32):
// less than Metal allows, and one instruction instead of fifteen. Subnormal results are zero, as on
// Apple's GPUs; preserving them would take three more instructions.
#pragma once

#include "../lanes.h"

namespace mb {

template <class F>
MB_FUNC F exp2_fast(F x) {
  if constexpr (__is_same(F, float)) {
    return __nvvm_ex2_approx_ftz_f(x);
  } else {
    F result;
#pragma clang loop unroll(full)
    for (int i = 0; i < lane_types<F>::count; ++i) result[i] = __nvvm_ex2_approx_ftz_f(x[i]);
    return result;
  }
}

}  // namespace mb
