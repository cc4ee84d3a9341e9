// y = x + silu(a): the activation of a branch and the residual addition in one pass, so that
// silu(a) stays in a register. Three arrays move instead of five.
// dispatch: silu_residual  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct SiluResidual {
  template <typename T>
  T operator()(T x, T a) const {
    return x + Silu()(a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void silu_residual(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(SiluResidual(), y, n, i, x, a);
}
