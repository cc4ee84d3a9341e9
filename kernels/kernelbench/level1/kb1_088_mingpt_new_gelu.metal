// GELU by a hyperbolic tangent: x (1 + tanh u) / 2 is x / (1 + exp(-2 u)).
// dispatch: apply  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct F {
  template <typename T>
  T operator()(T x) const {
    const T u = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x / (1.0f + precise::exp(-2.0f * u));
  }
};

[[kernel]] void apply(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                      constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(F(), y, rows * cols, i, x);
}
