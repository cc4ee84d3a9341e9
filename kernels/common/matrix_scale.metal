// y = factor x. One multiplication an element: the kernel shows what memory gives. The factor
// arrives as a constant, which all threads read from the same address, and stays in a register.
// dispatch: matrix_scale  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Scale {
  float factor;
  template <typename T>
  T operator()(T x) const {
    return factor * x;
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void matrix_scale(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    constant float& factor, uint i [[thread_position_in_grid]]) {
  elementwise(Scale{factor}, y, rows * cols, i, x);
}
