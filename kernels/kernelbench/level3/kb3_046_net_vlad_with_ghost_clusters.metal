// NetVLAD with ghost clusters, which take shares and are dropped. Six dispatches (metalbench/net_vlad.h):
// scores are one product, and the moments of their batch norm two dispatches (metalbench/pixel_norm.h);
// a threadgroup turns the scores of a set into shares and adds them up; the sums of residuals are a
// product for each set, with the centres taken off as it is stored; both norms are one dispatch, as the
// norm of all follows from those of the columns.
// dispatch: score  threadgroups=(ceil_div(clusters_kept + ghosts, BN), ceil_div(batch * count, BM))  threads=(128)
// dispatch: share  threadgroups=(ceil_div(ceil_div(clusters_kept + ghosts, 4), QUADS), ceil_div(batch * count, SHARE), 1)  threads=(QUADS, DOWN)
// dispatch: join  threadgroups=(clusters_kept + ghosts)  threads=(32)
// dispatch: assign  threadgroups=(batch)  threads=(TG)
// dispatch: gather  threadgroups=(ceil_div(clusters_kept, BN), ceil_div(dims, BM), batch)  threads=(128)
// dispatch: normalise  threadgroups=(batch)  threads=(TG)
// scratch: scores float32 (batch * count, clusters_kept + ghosts)
// scratch: partial float32 (1, ceil_div(batch * count, SHARE), clusters_kept + ghosts, 2)
// scratch: moments float32 (clusters_kept + ghosts, 2)
// scratch: shares float32 (batch * count, clusters_kept)
// scratch: totals float32 (batch, clusters_kept)
// tune: BM = 64, 32
// tune: BN = 32, 64
// tune: BK = 16, 8
// tune: SHARE = 512, 128, 2048
// tune: QUADS = 4, 8
// tune: DOWN = 32, 16, 8
// tune: TG = 256, 32, 128
// defaults: cpu BM = 32, TG = 32
// defaults: cuda BM = 32
// limits: clusters_kept + ghosts <= 256
#include "metalbench/net_vlad.h"
#include "metalbench/pixel_norm.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void score(
    device const float* x, device const float* clusters, device float* scores,
    constant uint& batch, constant uint& count, constant uint& dims, constant uint& clusters_kept,
    constant uint& ghosts, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, MatrixColumns<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  const uint rows = batch * count, total = clusters_kept + ghosts;
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, rows, dims}, {clusters, dims, total, total}, dims);
  product.store(Store<float>{scores, rows, total});
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void share(
    device const float* scores, device float* partial, constant uint& batch, constant uint& count,
    constant uint& clusters_kept, constant uint& ghosts, uint3 group [[threadgroup_position_in_grid]],
    uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  share_of_pixels<QUADS, DOWN, SHARE>(scores, partial, batch * count, clusters_kept + ghosts, group, at.xy, memory);
}

[[kernel]] void join(device const float* partial, device float* moments, constant uint& batch,
                     constant uint& count, constant uint& clusters_kept, constant uint& ghosts, 
                     uint index [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  join_shares<SHARE>(partial, moments, batch * count, clusters_kept + ghosts, (clusters_kept + ghosts), 1e-5f, index, lane);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void assign(
    device const float* scores, device const float* moments, device const float* batch_norm_weight,
    device const float* batch_norm_bias, device float* shares, device float* totals,
    constant uint& count, constant uint& clusters_kept, constant uint& ghosts, uint set [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  threadgroup ClusterMemory<TG / 32> memory;
  const ClusterScores from = {scores, moments, batch_norm_weight, batch_norm_bias, (clusters_kept + ghosts)};
  store_shares<TG / 32>(from, shares, totals, set, count, clusters_kept, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gather(
    device const float* x, device const float* shares, device const float* totals,
    device const float* clusters2, device float* y, constant uint& count, constant uint& dims,
    constant uint& clusters_kept, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = ResidualTile<BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile::compute(x, shares, totals, clusters2, y, count, dims, clusters_kept, tile, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void normalise(
    device float* y, constant uint& dims, constant uint& clusters_kept,
    uint set [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ClusterMemory<TG / 32> memory;
  normalise_set<TG / 32>(y + ulong(set) * dims * clusters_kept, dims, clusters_kept, memory, PLACE);
}
