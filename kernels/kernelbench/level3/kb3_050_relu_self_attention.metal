// Causal attention of twelve heads with ReLU for softmax. Two dispatches: queries, keys and values are
// one product, of which a head is a slice of columns (metalbench/merged_attention.h). Without a softmax
// the weights of a block of keys need nothing of the blocks before, so the pass of metalbench/attention.h
// has no levels and no sums: scores become weights where they lie, and no score leaves the threadgroup.
// dispatch: project_qkv  threadgroups=(ceil_div(3 * dims, BN), ceil_div(batch * tokens, BM))  threads=(128)
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), 12, batch)  threads=(32 * SG)
// scratch: qkv float32 (batch * tokens, 3 * dims)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: SG = 2, 1, 4
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2, SG = 4
// limits: dims % 12 == 0, dims <= 768
#include "metalbench/activations.h"
#include "metalbench/linear.h"
#include "metalbench/merged_attention.h"
using namespace metalbench;

constant constexpr uint HEADS = 12;
using Flash = SightedAttention<float, SG, 64, Seen<true>>;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_qkv(
    device const float* x, device const float* c_attn_weight, device const float* c_attn_bias,
    device float* qkv, constant uint& batch, constant uint& tokens, constant uint& dims,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, c_attn_weight, batch * tokens, dims, 3 * dims};
  layer.store(qkv, Biased<float>{c_attn_bias, 3 * dims}, tile, memory, PLACE);
}

// Eight scores of a lane, in row lane / 4, become weights: zero where a key is behind the query.
INLINED void weigh(thread const Flash& flash, float scale, uint first_key) {
  const uint key = first_key + 8 * (flash.place.lane % 4);
  threadgroup float4* mine = (threadgroup float4*)flash.own_scores() +
                             flash.place.lane / 4 * (Flash::kScorePitch / 4) +
                             2 * (flash.place.lane % 4);
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    mine[i] = select(float4(0.0f), Relu()(mine[i] * scale),
                     key + 4 * i + uint4(0, 1, 2, 3) <= flash.own_query());
  }
}

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void attend(
    device const float* qkv, device float* y, constant uint& tokens, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Flash::Memory memory;
  const uint width = dims / HEADS;
  const MergedHead head = MergedHead::of(qkv, y, tokens, dims, HEADS, group);
  const Flash flash(memory, width, group.x, PLACE);
  threadgroup float* tile = flash.tile_rows();
  Flash::Queries(head.q, flash.first_query, width, thread_index).put(tile);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_float8x8 query[Flash::kStripBlocks];
  Flash::Output out;
  UNROLLED
  for (uint j = 0; j < Flash::kStripBlocks; ++j) {
    out[0][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    if (j / kAttentionStep * kAttentionStep < flash.blocks()) {
      // check: allow registers queries and results stay in registers over all keys
      simdgroup_load(query[j], flash.own_rows() + 8 * j, Flash::kPitch);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const float scale = precise::rsqrt(float(width));
  const uint end = min(tokens, flash.first_query + Flash::kQueries);
  Flash::HeadRows keys(head.k, 0, width, thread_index);
  Flash::HeadRows values(head.v, 0, width, thread_index);
  for (uint first = 0; first < end; first += Flash::kKeys) {
    keys.put(tile);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    score_keys<Flash::kPitch, Flash::kScorePitch, Flash::kOwnKeyBlocks>(
        query, flash.blocks(), tile, flash.own_scores());
    threadgroup_barrier(mem_flags::mem_threadgroup);
    values.put(tile);
    weigh(flash, scale, first);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    gather_values<Flash::kPitch, Flash::kScorePitch, Flash::kKeys>(out[0], flash.value_blocks(),
                                                                   tile, flash.own_scores());
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  flash.store(out, head.y);
}
