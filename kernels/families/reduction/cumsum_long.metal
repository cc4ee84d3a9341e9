// Cumulative sums along rows of any length, in three dispatches: threadgroups add a block each, one
// threadgroup a row finds the sums of all blocks before each, and threadgroups scan their block from
// there on (metalbench/scan.h). The row is read twice; no threadgroup waits for another one.
// dispatch: sum_blocks  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(TG)
// check: allow few-threadgroups it adds one number of each threadgroup of the dispatch before, for a row
// dispatch: add_blocks  threadgroups=(rows)  threads=(256)
// dispatch: scan_blocks  threadgroups=(ceil_div(cols, BLOCK), rows)  threads=(TG)
// scratch: sums float32 (rows, ceil_div(cols, BLOCK))
// scratch: before float32 (rows, ceil_div(cols, BLOCK))
// tune: BLOCK = 16384, 4096, 65536
// tune: TG = 256, 128, 512
// tune: QUADS = 1, 2, 4
// defaults: cpu BLOCK = 65536, TG = 128
// limits: cols <= 4294901760
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

static uint blocks_of(uint cols) { return (cols - 1) / BLOCK + 1; }

// Block number `block` of a row: `BLOCK` of its columns, or those that are left.
static Row<float> block_of_row(device const float* x, uint cols, uint2 group) {
  const uint first = group.x * BLOCK;
  return {x + ulong(group.y) * cols + first, min(uint(BLOCK), cols - first), 0.0f};
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void sum_blocks(
    device const float* x, device float* sums, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[TG / 32];
  const Row<float> block = block_of_row(x, cols, group);
  float4 sum = 0;
  for (uint column = 4 * thread_index; column < block.cols; column += 4 * TG) {
    sum += block(column);
  }
  const float all = group_sum<TG / 32>(total(sum), partial, PLACE);
  if (thread_index == 0) {
    sums[group.y * blocks_of(cols) + group.x] = all;
  }
}

[[kernel]] void add_blocks(device const float* sums, device float* before, constant uint& cols,
                           uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ScanMemory<8> memory;
  const uint blocks = blocks_of(cols);
  scan_row<256, 1, true, false>(Sums(), Row<float>(sums + row * blocks, blocks, 0.0f),
                                before + row * blocks, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void scan_blocks(
    device const float* x, device const float* before, device float* y, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ScanMemory<TG / 32> memory;
  const float first = before[group.y * blocks_of(cols) + group.x];
  scan_row<TG, QUADS, false, false>(Sums(), block_of_row(x, cols, group),
                                y + ulong(group.y) * cols + group.x * BLOCK, memory, PLACE, first);
}
