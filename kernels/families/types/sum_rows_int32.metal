// One whole number of each row, which the instance names: sums and largest of 32-bit numbers, how
// many truth values are set, whether all or any are. One threadgroup a row; SIMD-group functions
// join lanes, and threadgroup memory their results. Sums wrap around, as those of MLX do.
// dispatch: join_rows  threadgroups=(rows)  threads=(min(TG, 32 * ceil_div(cols, 128)))
// instance: sum_rows_int32 FUNCTION = 0
// instance: max_rows_int32 FUNCTION = 1
// instance: count_rows FUNCTION = 2
// instance: all_rows FUNCTION = 3
// instance: any_rows FUNCTION = 4
// tune: TG = 1024, 32, 64, 128, 256
// defaults: cpu TG = 32
// defaults: cuda TG = 128
#include <metal_stdlib>
using namespace metal;

// Truth values are counted as 1. All of them are set where the smallest is, any where the largest is.
constant constexpr bool kCounts = FUNCTION == 0 || FUNCTION == 2;
using Element = conditional_t<(FUNCTION < 2), int, bool>;
using Result = conditional_t<(FUNCTION < 2), int, conditional_t<FUNCTION == 2, uint, bool>>;
constant constexpr int kNeutral = kCounts ? 0 : FUNCTION == 1 ? INT_MIN : FUNCTION == 3;

int join(int a, int b) { return kCounts ? int(uint(a) + uint(b)) : FUNCTION == 3 ? min(a, b) : max(a, b); }
int join_lanes(int v) {
  return kCounts ? int(simd_sum(uint(v))) : FUNCTION == 3 ? simd_min(v) : simd_max(v);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void join_rows(
    device const Element* x, device Result* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup int partial[TG / 32];
  device const Element* from = x + ulong(row) * cols;
  int all = kNeutral;
  for (uint column = thread_index; column < cols; column += threads) {
    all = join(all, int(from[column]));
  }
  all = join_lanes(all);
  if (lane == 0) {
    partial[simdgroup] = all;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    for (uint i = 1; i < simdgroups; ++i) {
      all = join(all, partial[i]);
    }
    y[row] = Result(all);
  }
}
