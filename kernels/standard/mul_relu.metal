// y = max(x a, 0). The sign of the product decides; -0 is returned as it is, since it is not
// below zero. Bound by memory, so four elements a thread.
// dispatch: mul_relu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct MulRelu {
  template <typename T>
  T operator()(T x, T a) const {
    return Relu()(x * a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void mul_relu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(MulRelu(), y, n, i, x, a);
}
