// y = a + b. Two loads and a store for one addition: memory decides, so all three go by quads.
// Matrices without gaps between rows are one long array to a kernel, whatever their shape.
// dispatch: matrix_add  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void matrix_add(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Add(), y, rows * cols, i, a, b);
}
