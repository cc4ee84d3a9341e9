// The sum of all squares of an array, in two launches: 128 threads add 8 quads each, and one
// threadgroup adds the shares.
// Threadgroup memory: 16 bytes.
// dispatch: first  threadgroups=(ceil_div(count, 4096))  threads=(128)
// dispatch: finish  threadgroups=(1)  threads=(128)
// scratch: shares float32 (ceil_div(count, 4096))
#include "metalbench/array_sum.h"
using namespace metalbench;

struct Square {
  float4 operator()(float4 v) const { return v * v; }
};

[[kernel]] void first(device const float* x, device float* shares, constant uint& count,
                      uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[4];
  store_share<128, 8>(Square(), count, group, shares, partial, PLACE, x);
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& count,
                       PLACE_ARGUMENTS) {
  threadgroup float partial[4];
  const float sum = sum_of_shares(shares, shares_of<128, 8>(count), partial, PLACE);
  if (thread_index == 0) {
    y[0] = sum;
  }
}
