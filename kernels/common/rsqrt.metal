// Reciprocal square root, a single instruction on GPUs. precise::rsqrt refines what the
// hardware estimates to within a rounding or two; 1 / sqrt(x) would round twice and take a
// division.
// dispatch: reciprocal_root  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct ReciprocalRoot {
  template <typename T>
  T operator()(T x) const {
    return precise::rsqrt(x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void reciprocal_root(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(ReciprocalRoot(), y, rows * cols, i, x);
}
