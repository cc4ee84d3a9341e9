// y is the bits of a with those of b cleared: the function is an object that takes both a number and a
// vector of four, since the last elements of an array are done one by one.
// Threadgroup memory: 0 bytes.
// dispatch: clear  threads_in_grid=(ceil_div(count, 4))  threads=(256)
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

struct Cleared {
  template <typename V>
  V operator()(V a, V b) const {
    return a & ~b;
  }
};

[[kernel]] void clear(device const uint* a, device const uint* b, device uint* y,
                      constant uint& count, uint i [[thread_position_in_grid]]) {
  typed_elements(Cleared(), y, count, i, a, b);
}
