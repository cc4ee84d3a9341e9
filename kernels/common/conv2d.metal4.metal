// 3 x 3 convolution, stride 1, no padding, channels last, with Metal 4's matmul2d: an implicit
// matrix product Y = A W^T as conv2d.metal has it. Threads put BK columns of A, the patches of BM
// output pixels, into threadgroup memory (metalbench/tensor_staging.h). The matrix units read them as
// a tensor, and the filters from device memory. Metal's convolution2d takes neither filters in this
// order nor a number of channels that is known at run time only.
// dispatch: conv2d  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(32 * SIMDS)
// tune: BM = 64, 32
// tune: BN = 64, 32, 128
// tune: BK = 32, 64
// tune: SIMDS = 4, 8
// defaults: cuda BN = 128
// dtypes: float32, float16, bfloat16
// math: fast
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/convolution.h"
#include "metalbench/tensor_staging.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SIMDS)]] void conv2d(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint2 tile [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  using Tile = StagedTile<BM, BN, BK, SIMDS, true>;
  threadgroup float4 memory[Tile::kMemory * sizeof(DTYPE) / sizeof(float4)];
  const Patches<DTYPE, DTYPE, 1, 3, 3> patches = {x, {batch, 1, height, width, channels, channels}};
  Tile::multiply(patches, matrix_tensor(w, filters, patches.depth()), patches.depth(),
                 matrix_tensor(y, patches.rows(), filters), tile, (threadgroup DTYPE*)memory,
                 thread_index);
}
