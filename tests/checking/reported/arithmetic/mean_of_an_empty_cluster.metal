// A cluster's integer mean, where no point has chosen the cluster.
// tune: BUG = 1, 0
// value: k = 16
// buffer: sum uint32 (k) integers 0 1000
// buffer: count uint32 (k) integers 0 4
// buffer: mean uint32 (k) output
// dispatch: means threads_in_grid=(k) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void means(device const uint* sum, device const uint* count, device uint* mean,
                  uint i [[thread_position_in_grid]]) {
  mean[i] = sum[i] / (BUG ? count[i] : max(count[i], 1u));  // bug: division
}
