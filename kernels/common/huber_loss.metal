// Huber loss with delta = 1: d^2/2 for |d| <= 1, else |d| - 1/2, where d = prediction - target.
// Both forms and their slopes agree at |d| = 1, so it does not matter on which side rounding puts
// an element.
// dispatch: huber_loss  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Huber {
  template <typename T>
  T operator()(T prediction, T target) const {
    const T size = fabs(prediction - target);
    return select(size - 0.5f, 0.5f * size * size, size <= T(1.0f));
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void huber_loss(
    device const DTYPE* prediction, device const DTYPE* target, device DTYPE* y,
    constant uint& rows, constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Huber(), y, rows * cols, i, prediction, target);
}
