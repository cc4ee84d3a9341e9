// Root of a Merkle tree by SHA-256, as certificate transparency has it (RFC 9162): a thread a leaf,
// then three dispatches that join nodes in the memory of threadgroups (metalbench/hash_tree.h). Leaves
// and nodes are hashed behind different bytes, so that a node is two blocks.
// dispatch: hash_leaves  threads_in_grid=(leaves)  threads=(TG)
// dispatch: first_levels  threadgroups=(ceil_div(leaves, 2 * TG))  threads=(TG)
// dispatch: next_levels  threadgroups=(ceil_div(leaves, 4 * TG * TG))  threads=(TG)
// check: allow few-threadgroups it joins one node of each threadgroup of the dispatch before
// dispatch: last_levels  threadgroups=(1)  threads=(TG)
// scratch: hashes uint32 (leaves, 8)
// scratch: nodes uint32 (ceil_div(leaves, 2 * TG), 8)
// scratch: fewer_nodes uint32 (ceil_div(leaves, 4 * TG * TG), 8)
// tune: TG = 128, 64, 256
// limits: leaves <= 8 * TG * TG * TG, length <= 4294967159
#include "metalbench/hash_tree.h"
#include "metalbench/sha256.h"
using namespace metal;
using namespace metalbench;

// Digests as words whose highest bits are the first byte.
static HashNode node_of(Sha256 hash) {
  HashNode node;
  UNROLLED
  for (uint i = 0; i < 8; ++i) {
    node.words[i] = hash.state[i];
  }
  return node;
}

// The hash of the byte 1 and both digests, 65 bytes.
struct MerkleJoin {
  INLINED HashNode operator()(HashNode left, HashNode right, bool) const {
    uint all[17], words[16];
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      all[1 + i] = left.words[i];
      all[9 + i] = right.words[i];
    }
    all[0] = 1;
    UNROLLED
    for (uint i = 0; i < 16; ++i) {
      words[i] = all[i] << 24 | all[i + 1] >> 8;
    }
    Sha256 hash;
    hash.add_block(words);
    UNROLLED
    for (uint i = 1; i < 15; ++i) {
      words[i] = 0;
    }
    words[0] = all[16] << 24 | 0x800000;
    words[15] = 65 * 8;
    hash.add_block(words);
    return node_of(hash);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void hash_leaves(
    device const uchar* x, device uint* hashes, constant uint& length,
    uint leaf [[thread_position_in_grid]]) {
  store_node(hashes, leaf, node_of(sha256_of(MarkedMessage{x + ulong(leaf) * length, length + 1, 0})));
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void first_levels(
    device const uint* hashes, device uint* nodes, constant uint& leaves,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  join_level<TG>(MerkleJoin(), hashes, nodes, leaves, 0, group, memory, thread_index);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void next_levels(
    device const uint* nodes, device uint* fewer_nodes, constant uint& leaves,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  join_level<TG>(MerkleJoin(), nodes, fewer_nodes, leaves, 1, group, memory, thread_index);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void last_levels(
    device const uint* fewer_nodes, device uchar* y, constant uint& leaves,
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  const HashNode node =
      join_nodes<TG>(MerkleJoin(), fewer_nodes, (leaves - 1) / (4 * TG * TG) + 1, 0, memory,
                     thread_index);
  if (thread_index == 0) {
    HashNode bytes;
    UNROLLED
    for (uint i = 0; i < 8; ++i) {
      bytes.words[i] = swap_bytes(node.words[i]);
    }
    store_digest(y, bytes.words);
  }
}
