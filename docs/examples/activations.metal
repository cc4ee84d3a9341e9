// y = mish(x) and z = leaky_relu(x): an activation is an object, with or without a parameter.
// Threadgroup memory: 0 bytes.
// dispatch: activate  threads_in_grid=(ceil_div(count, 4))  threads=(256)
#include "metalbench/activations.h"
#include "metalbench/elementwise.h"
using namespace metalbench;

[[kernel]] void activate(device const float* x, device float* y, device float* z,
                         constant uint& count, constant float& slope,
                         uint i [[thread_position_in_grid]]) {
  elementwise(Mish(), y, count, i, x);
  elementwise(LeakyRelu{slope}, z, count, i, x);
}
