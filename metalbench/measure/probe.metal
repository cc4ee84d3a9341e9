// `probe` is of the clock: a chain of fused multiply-adds in registers, each waiting for the last, so
// that its time is `steps` latencies at the present clock and nothing else.
#include <metal_stdlib>
using namespace metal;

[[kernel]] void probe(device float* end, constant uint& steps,
                      uint lane [[thread_position_in_grid]]) {
  float value = float(lane);
  for (uint step = 0; step < steps; ++step) {
    value = fma(value, 0.999f, 0.5f);
    value = fma(value, 0.998f, 0.25f);
    value = fma(value, 0.997f, 0.125f);
    value = fma(value, 0.996f, 0.0625f);
  }
  end[lane] = value;
}

// `read` is of the memory: its time is that of reading the words, once each. With a barrier the CPU
// engine runs threads as vectors. Otherwise the time would be that of the instructions.
constant uint READ_THREADS = 256;
[[kernel]] void read(device const float* data, device float* end,
                     constant uint& words_of_threadgroup,
                     uint threadgroup_index [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_position_in_threadgroup]]) {
  threadgroup float sums[READ_THREADS];
  device const float* first = data + threadgroup_index * words_of_threadgroup;
  float sum = 0.0f;
  for (uint place = thread_index; place < words_of_threadgroup; place += READ_THREADS)
    sum += first[place];
  sums[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index > 0) return;
  for (uint lane = 1; lane < READ_THREADS; ++lane) sum += sums[lane];
  end[threadgroup_index] = sum;
}
