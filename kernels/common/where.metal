// y = mask ? a : b. The mask has one byte an element, so a thread loads four of them at once as
// well. Both sides are loaded and one is selected: a branch would save nothing, since a cache
// line is moved whole if one lane needs it.
// dispatch: choose  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Where {
  template <typename Mask, typename T>
  T operator()(Mask mask, T a, T b) const {
    return select(b, a, mask);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void choose(
    device const bool* mask, device const DTYPE* a, device const DTYPE* b, device DTYPE* y,
    constant uint& rows, constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Where(), y, rows * cols, i, mask, a, b);
}
