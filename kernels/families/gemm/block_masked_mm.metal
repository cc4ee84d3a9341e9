// A matrix product with masks of blocks of 32 x 32: a threadgroup has one block of the result, and
// is done at once where that is left out. Operands are fetched through their masks: what is masked
// is zero without being read (metalbench/tiles.h), so that memory is spared and order does not
// change. Tiles are as large as blocks, because a larger one would meet several masks.
// dispatch: block_masked_mm  threadgroups=(ceil_div(n, 32), ceil_div(m, 32))  threads=(128)
// tune: BK = 16, 8, 32
// dtypes: float32, float16, bfloat16
// math: fast
// limits: block == 32
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

constant constexpr uint BLOCK = 32;

// An operand through the line of blocks that a tile meets; the next block is `step` masks on.
template <typename Source>
struct Masked {
  using element = typename Source::element;
  using Line = typename Source::Line;
  static constant constexpr bool kAlongDepth = Source::kAlongDepth;
  Source source;
  device const uint* mask;
  uint step;
  uint depth;

  INLINED Line line(uint i) const { return source.line(i); }
  INLINED Quad<element> quad(thread const Line& from, uint k) const {
    return k < depth && mask[k / BLOCK * step] ? source.quad(from, k) : Quad<element>(element(0));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void block_masked_mm(
    device const DTYPE* a, device const DTYPE* b, device const uint* mask_a,
    device const uint* mask_b, device const uint* mask_c, device DTYPE* y, constant uint& m,
    constant uint& n, constant uint& k, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Left = Masked<MatrixRows<DTYPE>>;
  using Right = Masked<MatrixColumns<DTYPE>>;
  using Tile = Product<Left, Right, BLOCK, BLOCK, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint across = (n + BLOCK - 1) / BLOCK, deep = (k + BLOCK - 1) / BLOCK;
  const bool wanted = mask_c[tile.y * across + tile.x] != 0;
  const uint depth = wanted ? k : 0;
  Tile product(tile * BLOCK, memory, PLACE);
  product.multiply(Left{{a, m, k}, mask_a + tile.y * deep, 1, depth},
                   Right{{b, k, n, n}, mask_b + tile.x, across, depth}, depth);
  product.store(Store<DTYPE>{y, m, n});
}
