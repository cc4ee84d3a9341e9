// y = max(x + a, 0), the end of a residual block. ReLU costs a selection on a value that is in a
// register anyway; as a separate kernel it would move the whole array twice more.
// dispatch: add_relu  threads_in_grid=(ceil_div(n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: n <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct AddRelu {
  template <typename T>
  T operator()(T x, T a) const {
    return Relu()(x + a);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_relu(
    device const DTYPE* x, device const DTYPE* a, device DTYPE* y, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(AddRelu(), y, n, i, x, a);
}
