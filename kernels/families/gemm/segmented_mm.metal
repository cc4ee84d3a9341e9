// A product for each segment of the depth: the grid's depth is the segments, and each begins and
// ends where the list says, at any column. Rows of B begin at a segment's first and are as many as
// it is long; quads of A's rows end where the segment does. An empty segment has no step, and its
// zeros are stored like any sums.
// dispatch: segmented_mm  threadgroups=(ceil_div(n, BN), ceil_div(m, BM), count)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

// The columns of one segment.
struct Columns {
  using element = DTYPE;
  using Line = device const DTYPE*;
  static constant constexpr bool kAlongDepth = true;
  device const DTYPE* data;
  uint rows;
  uint pitch;
  uint count;

  INLINED Line line(uint row) const { return row < rows ? data + ulong(row) * pitch : nullptr; }
  INLINED Quad<DTYPE> quad(thread const Line& from, uint k) const {
    return Quad<DTYPE>(from && k < count ? load_quad(from, k, count) : float4(0.0f));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void segmented_mm(
    device const DTYPE* a, device const DTYPE* b, device const uint* segments, device DTYPE* y,
    constant uint& m, constant uint& n, constant uint& k,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<Columns, MatrixColumns<DTYPE>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint first = segments[2 * tile.z], count = segments[2 * tile.z + 1] - first;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply(Columns{a + first, m, k, count}, {b + ulong(first) * n, count, n, n}, count);
  product.store(Store<DTYPE>{y + ulong(tile.z) * m * n, m, n});
}
