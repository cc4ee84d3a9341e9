// C = 2 A B + C0 for row-major matrices: a threadgroup of 128 threads makes a tile of 32 x 32. The
// sources say where A and B are, and the epilogue what becomes of four sums of a row.
// Threadgroup memory: 9728 bytes.
// dispatch: twice_plus  threadgroups=(ceil_div(n, 32), ceil_div(m, 32))  threads=(128)
#include "metalbench/quads.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct TwicePlus {
  device const float* added;
  device float* to;
  uint rows;
  uint cols;
  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < rows && column < cols) {
      const ulong start = ulong(row) * cols;
      const float4 v = 2.0f * *sums + load_quad(added + start, column, cols);
      store_quad(to + start, column, cols, v);
    }
  }
};

[[kernel]] void twice_plus(device const float* a, device const float* b, device const float* c0,
                           device float* c, constant uint& m, constant uint& n, constant uint& k,
                           uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<float>, 32, 32, 16>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(32, 32), memory, PLACE);
  product.multiply({a, m, k}, {b, k, n, n}, k);  // the last n is the pitch of a row of B
  product.store(TwicePlus{c0, c, m, n});
}
