// A matrix times 3.14: bound by memory.
// dispatch: apply  threads_in_grid=(ceil_div(m * n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct F {
  template <typename T>
  T operator()(T x) const {
    return 3.14f * x;
  }
};

[[kernel]] void apply(device const DTYPE* a, device DTYPE* y, constant uint& m, constant uint& n,
                      uint i [[thread_position_in_grid]]) {
  elementwise(F(), y, m * n, i, a);
}
