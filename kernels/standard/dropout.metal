// Dropout with a mask that is given: y = mask ? x / (1 - p) : 0, so that the expected value of y
// is x. A dropped element is selected away, not multiplied by zero: an infinity or a NaN that is
// dropped is gone, and 0 is not -0.
// dispatch: dropout  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Drop {
  float scale;
  template <typename Mask, typename T>
  T operator()(Mask mask, T x) const {
    return select(T(0.0f), scale * x, mask);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void dropout(
    device const bool* mask, device const DTYPE* x, device DTYPE* y, constant uint& rows,
    constant uint& cols, constant float& p, uint i [[thread_position_in_grid]]) {
  elementwise(Drop{1.0f / (1.0f - p)}, y, rows * cols, i, mask, x);
}
