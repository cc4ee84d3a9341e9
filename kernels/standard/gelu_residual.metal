// y = x + gelu(a) with the exact GELU: some thirty operations an element that hide behind the
// memory traffic of two loads and a store, as long as no lane takes a branch.
// dispatch: gelu_residual  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct GeluResidual {
  template <typename T>
  T operator()(T x, T a) const {
    return x + Gelu()(a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void gelu_residual(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(GeluResidual(), y, n, i, x, a);
}
