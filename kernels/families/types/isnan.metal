// What kind of number each float is, which the instance names: not a number, infinite, finite; truth
// values, a byte each. Four elements a thread (metalbench/typed.h).
// dispatch: classify  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: isnan FUNCTION = 0
// instance: isinf FUNCTION = 1
// instance: isfinite FUNCTION = 2
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

struct Chosen {
  template <typename V>
  auto operator()(V x) const {
    if constexpr (FUNCTION == 0) {
      return isnan(x);
    } else if constexpr (FUNCTION == 1) {
      return isinf(x);
    } else {
      return isfinite(x);
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void classify(
    device const DTYPE* x, device bool* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  typed_elements(Chosen(), y, rows * cols, i, x);
}
