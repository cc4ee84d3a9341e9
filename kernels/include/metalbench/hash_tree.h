// Binary trees of hashes, joined by threadgroups in their memory. At each level neighbours are
// joined, and the last of an odd number goes up as it is: left subtrees are then as large as they
// can be, as BLAKE3 and RFC 9162 want them. Log2 of twice the threads are the levels of one
// dispatch.
#pragma once
#include "metalbench/inlined.h"
#include "metalbench/messages.h"

namespace metalbench {

struct HashNode {
  uint words[8];
};

inline HashNode load_node(device const uint* nodes, uint i) {
  device const uint4* at = (device const uint4*)nodes + 2 * ulong(i);
  // check: allow strided-access a node is 32 bytes, its thread takes its neighbour as well
  const uint4 first = at[0], second = at[1];
  return {{first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w}};
}

inline void store_node(device uint* nodes, uint i, HashNode node) {
  store_digest((device uchar*)(nodes + 8 * ulong(i)), node.words);
}

// A threadgroup joins nodes number 2 Threads `group` and on, of `count`, to one: thread 0 has it.
// `join(left, right, is_root)` is the hash of both.
template <uint Threads, typename Join>
INLINED inline HashNode join_nodes(Join join, device const uint* nodes, uint count, uint group,
                                   threadgroup HashNode* memory, uint thread_index) {
  const uint begin = 2 * Threads * group;
  uint here = min(count - begin, 2 * Threads), level = count;
  HashNode node;
  if (2 * thread_index < here) {
    node = load_node(nodes, begin + 2 * thread_index);
    if (2 * thread_index + 1 < here) {
      node = join(node, load_node(nodes, begin + 2 * thread_index + 1), level == 2);
    }
    memory[thread_index] = node;
  }
  ROLLED
  for (uint joined = Threads; joined > 1; joined /= 2) {
    here = (here + 1) / 2;
    level = (level + 1) / 2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const bool has_left = 2 * thread_index < here, has_right = 2 * thread_index + 1 < here;
    if (has_left) {
      // check: allow bank-conflict joining two nodes takes some thousand operations
      node = memory[2 * thread_index];
    }
    if (has_right) {
      // check: allow bank-conflict joining two nodes takes some thousand operations
      node = join(node, memory[2 * thread_index + 1], level == 2);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (has_left) {
      memory[thread_index] = node;
    }
  }
  return node;
}

// Joins nodes of one level of a tree, 2 Threads by 2 Threads, to those of the next. `level` is how
// often that was done before.
template <uint Threads, typename Join>
inline void join_level(Join join, device const uint* from, device uint* to, uint leaves, uint level,
                       uint group, threadgroup HashNode* memory, uint thread_index) {
  uint count = leaves;
  for (uint i = 0; i < level; ++i) {
    count = (count + 2 * Threads - 1) / (2 * Threads);
  }
  const HashNode node = join_nodes<Threads>(join, from, count, group, memory, thread_index);
  if (thread_index == 0) {
    store_node(to, group, node);
  }
}

}  // namespace metalbench
