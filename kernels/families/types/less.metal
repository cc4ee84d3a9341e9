// A comparison of two floats, or of one with what it can be, which the instance names: truth values,
// a byte each. Four elements a thread (metalbench/typed.h).
// dispatch: compare  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: less FUNCTION = 0
// instance: less_equal FUNCTION = 1
// instance: equal FUNCTION = 2
// instance: not_equal FUNCTION = 3
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

struct Chosen {
  template <typename V>
  auto operator()(V a, V b) const {
    if constexpr (FUNCTION == 0) {
      return a < b;
    } else if constexpr (FUNCTION == 1) {
      return a <= b;
    } else if constexpr (FUNCTION == 2) {
      return a == b;
    } else {
      return a != b;
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void compare(
    device const DTYPE* a, device const DTYPE* b, device bool* y, constant uint& rows,
    constant uint& cols, uint i [[thread_position_in_grid]]) {
  typed_elements(Chosen(), y, rows * cols, i, a, b);
}
