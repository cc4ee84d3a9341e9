// C = A B with a depth far larger than the sides of C: the depth is cut into shares of SHARE, each a
// separate product, so that a small C keeps a GPU busy; the shares' products are then added up.
// That is also more exact: no sum is longer than a share.
// dispatch: multiply  threadgroups=(ceil_div(n, BN), ceil_div(m, BM), ceil_div(k, SHARE))  threads=(128)
// dispatch: add  threads_in_grid=(ceil_div(m * n, 4))  threads=(64)
// scratch: partial float32 (ceil_div(k, SHARE), m, n)
// tune: SHARE = 1024, 512, 4096
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// math: fast
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void multiply(
    device const float* a, device const float* b, device float* partial, constant uint& m,
    constant uint& n, constant uint& k, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Rows = FromDepth<MatrixRows<float>>;
  using Columns = FromDepth<MatrixColumns<float>>;
  using Tile = Product<Rows, Columns, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint first = tile.z * SHARE;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply(Rows{{a, m, k}, first}, Columns{{b, k, n, n}, first},
                   min(uint(SHARE), k - first));
  product.store(Store<float>{partial + ulong(tile.z) * m * n, m, n});
}

[[kernel]] void add(device const float* partial, device float* c, constant uint& m,
                    constant uint& n, constant uint& k, uint i [[thread_position_in_grid]]) {
  const uint count = m * n;
  float4 sum = 0.0f;
  for (uint share = 0; share < (k + SHARE - 1) / SHARE; ++share) {
    sum += load_quad(partial + ulong(share) * count, 4 * i, count);
  }
  store_quad(c, 4 * i, count, sum);
}
