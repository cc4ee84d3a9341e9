// Slim matrices with a long depth: the few tiles of the result would leave a GPU empty, so the
// depth is cut into SPLITS parts, each a separate product in a scratch of float, and a second
// dispatch adds them up in their order.
// dispatch: partial_products  threadgroups=(ceil_div(n, 32), ceil_div(m, 32), SPLITS)  threads=(128)
// dispatch: add_up  threads_in_grid=(m * n)  threads=(64)
// scratch: partial float32 (SPLITS, m, n)
// tune: SPLITS = 64, 8, 16, 256
// defaults: cpu SPLITS = 8
// tune: BK = 16, 8, 32
// dtypes: float32, float16, bfloat16
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

// A matrix from a depth on: rows end where the part does.
struct Part {
  using element = DTYPE;
  using Line = device const DTYPE*;
  static constant constexpr bool kAlongDepth = true;
  device const DTYPE* data;
  uint rows;
  uint pitch;
  uint first;
  uint end;

  INLINED Line line(uint row) const { return row < rows ? data + ulong(row) * pitch : nullptr; }
  INLINED Quad<DTYPE> quad(thread const Line& from, uint k) const {
    const uint at = first + k;
    return Quad<DTYPE>(from && at < end ? load_quad(from, at, end) : float4(0.0f));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void partial_products(
    device const DTYPE* a, device const DTYPE* b, device float* partial, constant uint& m,
    constant uint& n, constant uint& k, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Tile = Product<Part, Part, 32, 32, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint length = (k + SPLITS - 1) / SPLITS;
  const uint first = min(tile.z * length, k), end = min(first + length, k);
  Tile product(tile.xy * 32, memory, PLACE);
  product.multiply(Part{a, m, k, first, end}, Part{b, n, k, first, end}, end - first);
  product.store(Store<float>{partial + ulong(tile.z) * m * n, m, n});
}

[[kernel]] void add_up(device const float* partial, device DTYPE* y, constant uint& m,
                       constant uint& n, uint at [[thread_position_in_grid]]) {
  float sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < SPLITS; ++i) {
    sum += partial[ulong(i) * m * n + at];
  }
  y[at] = DTYPE(sum);
}
