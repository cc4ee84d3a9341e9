// y = silu(x + a): the sum is rounded once in float and is never stored, whatever the element
// type; with half precision that is one rounding less than two kernels would do.
// dispatch: add_silu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct AddSilu {
  template <typename T>
  T operator()(T x, T a) const {
    return Silu()(x + a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_silu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(AddSilu(), y, n, i, x, a);
}
