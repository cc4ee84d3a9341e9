// Hinge loss: y = max(0, 1 - p t). The product with t = -1 or 1 is exact, so 1 - p t is rounded
// once, with or without fma. Nothing is reduced: each element has its own loss.
// dispatch: hinge_loss  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Hinge {
  template <typename T>
  T operator()(T prediction, T target) const {
    return Relu()(1.0f - prediction * target);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void hinge_loss(
    device const DTYPE* prediction, device const DTYPE* target, device DTYPE* y,
    constant uint& rows, constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Hinge(), y, rows * cols, i, prediction, target);
}
