// BLAKE3 of one long message: a thread a chunk of 1024 bytes, then three dispatches that join the
// chaining values of chunks in the memory of threadgroups (metalbench/hash_tree.h). Each makes one
// node of 2 TG, and three are enough for 2^30 chunks.
// dispatch: chunks  threads_in_grid=(ceil_div(bytes, 1024))  threads=(TG)
// dispatch: first_levels  threadgroups=(ceil_div(bytes, 2048 * TG))  threads=(TG)
// check: allow few-threadgroups it joins one node of each threadgroup of the dispatch before
// dispatch: next_levels  threadgroups=(ceil_div(bytes, 4096 * TG * TG))  threads=(TG)
// check: allow few-threadgroups it joins one node of each threadgroup of the dispatch before
// dispatch: last_levels  threadgroups=(1)  threads=(TG)
// scratch: leaves uint32 (ceil_div(bytes, 1024), 8)
// scratch: nodes uint32 (ceil_div(bytes, 2048 * TG), 8)
// scratch: fewer_nodes uint32 (ceil_div(bytes, 4096 * TG * TG), 8)
// tune: TG = 128, 64, 256
// limits: bytes <= 4294966272, bytes <= 8192 * TG * TG * TG
#include "metalbench/blake3.h"
using namespace metal;
using namespace metalbench;

static uint chunks_of(uint bytes) { return (bytes - 1) / kBlake3Chunk + 1; }

[[kernel, max_total_threads_per_threadgroup(TG)]] void chunks(
    device const uchar* x, device uint* leaves, constant uint& bytes,
    uint chunk [[thread_position_in_grid]]) {
  const uint first = chunk * kBlake3Chunk;
  store_node(leaves, chunk,
             blake3_chunk(Message{x + first, min(kBlake3Chunk, bytes - first)}, chunk,
                          bytes <= kBlake3Chunk));
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void first_levels(
    device const uint* leaves, device uint* nodes, constant uint& bytes,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  join_level<TG>(Blake3Join(), leaves, nodes, chunks_of(bytes), 0, group, memory, thread_index);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void next_levels(
    device const uint* nodes, device uint* fewer_nodes, constant uint& bytes,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  join_level<TG>(Blake3Join(), nodes, fewer_nodes, chunks_of(bytes), 1, group, memory, thread_index);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void last_levels(
    device const uint* fewer_nodes, device uchar* y, constant uint& bytes,
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup HashNode memory[TG];
  join_level<TG>(Blake3Join(), fewer_nodes, (device uint*)y, chunks_of(bytes), 2, 0, memory,
                 thread_index);
}
