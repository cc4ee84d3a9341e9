// Powers of two without fast math: the same functions as Metal's fast ones.
#pragma once

#include "../exponential.h"

namespace mb {

template <class F>
MB_FUNC F exp2_fast(F x) {
  return exp2_of(x);
}

}  // namespace mb
