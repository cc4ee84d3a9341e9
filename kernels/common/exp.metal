// Exponential function, four elements a thread. precise::exp is meant, whatever the math mode: an
// approximation by exp2(x log2(e)) has an error that grows with |x|, since the product rounds
// before it is exponentiated. Overflows to infinity and underflows to 0.
// dispatch: exponential  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Exponential {
  template <typename T>
  T operator()(T x) const {
    return precise::exp(x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void exponential(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Exponential(), y, rows * cols, i, x);
}
