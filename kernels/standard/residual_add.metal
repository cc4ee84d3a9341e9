// y = x + alpha r as one fused multiply-add, rounded once. The scaled residual is never stored:
// of three passes over memory (scale, add, write) one is left.
// dispatch: residual_add  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

struct ScaledAdd {
  float alpha;
  template <typename T>
  T operator()(T x, T residual) const {
    return fma(T(alpha), residual, x);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void residual_add(
    device const DTYPE* x, device const DTYPE* residual, device DTYPE* y, constant uint& rows,
    constant uint& cols, constant float& alpha, uint i [[thread_position_in_grid]]) {
  elementwise(ScaledAdd{alpha}, y, rows * cols, i, x, residual);
}
