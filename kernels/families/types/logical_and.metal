// One function of two truth values, a byte each, which the instance names. Four elements a thread
// (metalbench/typed.h).
// dispatch: combine  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: logical_and FUNCTION = 0
// instance: logical_or FUNCTION = 1
// instance: logical_xor FUNCTION = 2
// tune: TG = 256, 128, 512, 1024
// limits: rows * cols <= 4294967292
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

struct Chosen {
  template <typename V>
  V operator()(V a, V b) const {
    return FUNCTION == 0 ? a && b : FUNCTION == 1 ? a || b : a != b;
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void combine(
    device const bool* a, device const bool* b, device bool* y, constant uint& rows,
    constant uint& cols, uint i [[thread_position_in_grid]]) {
  typed_elements(Chosen(), y, rows * cols, i, a, b);
}
