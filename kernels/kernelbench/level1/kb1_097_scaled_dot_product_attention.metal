// Attention of any number of dims, softmax(q k^T / sqrt(dims)) v for every head: scores are a product
// with a transposed operand, softmax keeps a row in registers, and weights by values are a product
// again. Heads of up to 128 dims could do without the matrix of scores (metalbench/attention.h), the
// problem's own have 1024.
// dispatch: score  threadgroups=(ceil_div(tokens, BN), ceil_div(tokens, BM), batch * heads)  threads=(128)
// dispatch: normalize  threadgroups=(batch * heads * tokens)  threads=(ROW_THREADS)
// dispatch: gather  threadgroups=(ceil_div(dims, BN), ceil_div(tokens, BM), batch * heads)  threads=(128)
// scratch: scores float32 (batch * heads, tokens, tokens)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: ROW_THREADS = 128, 32, 64
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, ROW_THREADS = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, ROW_THREADS = 32, BUFFERS = 2
#include "metalbench/epilogues.h"
#include "metalbench/softmax.h"
#include "metalbench/tiles.h"
using namespace metalbench;

struct Scaled {
  float scale;
  float4 operator()(float4 v, uint, uint) const { return v * scale; }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void score(
    device const float* q, device const float* k, device float* scores, constant uint& tokens,
    constant uint& dims, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixRows<float>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const ulong head = ulong(tile.z) * tokens;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({q + head * dims, tokens, dims}, {k + head * dims, tokens, dims}, dims);
  product.store(
      Store<float, Scaled>{scores + head * tokens, tokens, tokens, {precise::rsqrt(float(dims))}});
}

[[kernel]] void normalize(device float* scores, constant uint& tokens,
                          uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float2 partial[ROW_THREADS / 32];
  device float* own = scores + ulong(row) * tokens;
  device const float* from = own;
  softmax_row<ROW_THREADS, 4>(row_in_place(from, 0, tokens, -INFINITY), own, partial, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather(
    device const float* scores, device const float* v, device float* y, constant uint& tokens,
    constant uint& dims, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<float>, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const ulong head = ulong(tile.z) * tokens;
  Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  product.multiply({scores + head * tokens, tokens, tokens}, {v + head * dims, tokens, dims, dims},
                   tokens);
  product.store(Store<float>{y + head * dims, tokens, dims});
}
