// One function of 32-bit whole numbers, which the instance names: all bits inverted, the number of
// bits that are set, the number of zeros above the first. Four elements a thread
// (metalbench/typed.h).
// dispatch: unary  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: bitwise_invert FUNCTION = 0
// instance: population_count FUNCTION = 1
// instance: leading_zeros FUNCTION = 2
// tune: TG = 256, 128, 512, 1024
// limits: rows * cols <= 4294967292
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

struct Chosen {
  template <typename V>
  V operator()(V x) const {
    return FUNCTION == 0 ? ~x : FUNCTION == 1 ? popcount(x) : clz(x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void unary(
    device const uint* x, device uint* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  typed_elements(Chosen(), y, rows * cols, i, x);
}
