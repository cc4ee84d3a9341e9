// Natural logarithm, four elements a thread. It is delicate near 1, where the result vanishes:
// log2(x) ln 2 would do nowhere else as badly. precise::log takes the exponent out so that what
// is left lies evenly around 1, and loses nothing there.
// dispatch: logarithm  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Logarithm {
  template <typename T>
  T operator()(T x) const {
    return precise::log(x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void logarithm(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Logarithm(), y, rows * cols, i, x);
}
