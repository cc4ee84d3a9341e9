// Absolute value: a bit is cleared, and NaN stays NaN. The least that a kernel can do with every
// element, so its time is what memory takes: a thread moves four elements with one load and one
// store.
// dispatch: absolute  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Absolute {
  template <typename T>
  T operator()(T x) const {
    return fabs(x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void absolute(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Absolute(), y, rows * cols, i, x);
}
