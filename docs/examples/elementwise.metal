// y = sqrt(a^2 + b^2) for every pair of elements: the function is an object that takes both a
// float and a float4, since the last elements of an array are done one by one.
// Threadgroup memory: 0 bytes.
// dispatch: hypotenuse  threads_in_grid=(ceil_div(count, 4))  threads=(256)
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Hypotenuse {
  template <typename T>
  T operator()(T a, T b) const {
    return precise::sqrt(a * a + b * b);
  }
};

[[kernel]] void hypotenuse(device const float* a, device const float* b, device float* y,
                           constant uint& count, uint i [[thread_position_in_grid]]) {
  elementwise(Hypotenuse(), y, count, i, a, b);
}
