// y = x + tanh(a). tanh is at most 1: for large x only its leading digits matter, for x near
// -tanh(a) the sum cancels and every error of tanh shows. So it is the precise one, which is also
// 1 where exp overflows.
// dispatch: residual_tanh  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct ResidualTanh {
  template <typename T>
  T operator()(T x, T a) const {
    return x + Tanh()(a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void residual_tanh(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(ResidualTanh(), y, n, i, x, a);
}
