// y = 3.14 a, one multiplication an element: memory bounds it.
// dispatch: scale  threads_in_grid=(ceil_div(m * n, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// limits: m * n <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Scale {
  template <typename T>
  T operator()(T x) const {
    return 3.14f * x;
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void scale(
    device const float* a, device float* y, constant uint& m, constant uint& n,
    uint i [[thread_position_in_grid]]) {
  elementwise(Scale(), y, m * n, i, a);
}
