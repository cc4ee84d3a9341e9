// Terms of the Kullback-Leibler divergence, y = t (log t - log p), as t log(t / p): one logarithm
// and one division instead of two logarithms, and where t is close to p, the small result comes
// from one rounding of the quotient, not from the difference of two large logarithms.
// dispatch: kl_div_loss  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct Divergence {
  template <typename T>
  T operator()(T prediction, T target) const {
    return target * precise::log(target / prediction);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void kl_div_loss(
    device const DTYPE* prediction, device const DTYPE* target, device DTYPE* y,
    constant uint& rows, constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Divergence(), y, rows * cols, i, prediction, target);
}
