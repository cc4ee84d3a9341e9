// Gated delta rule, CHUNK tokens at a time, as products of matrices (Yang and others, "Gated Delta
// Networks", arXiv 2412.06464). What the tokens of a chunk change follows from a triangular system
// that has nothing to do with the state but on its right side: both of its parts, values and keys,
// are solved for all chunks beside each other (the WY form of products of reflections). Then a
// threadgroup takes ROWS rows of a head's state, in its memory, from chunk to chunk: what the state
// says of a chunk's keys is taken from its values, and all is asked and added by 8 x 8 matrices.
// Decays between two tokens are products of decays, never quotients, which could be 0 / 0.
// dispatch: prepare  threadgroups=(ceil_div(tokens, CHUNK), heads)  threads=(TG)
// dispatch: walk  threadgroups=(ceil_div(rows, ROWS), heads)  threads=(CHUNK * ROWS / 2)
// scratch: w float32 (heads, ceil_div(tokens, CHUNK) * CHUNK, ceil_div(cols, 8) * 8)
// scratch: queries float32 (heads, ceil_div(tokens, CHUNK) * CHUNK, ceil_div(cols, 8) * 8)
// scratch: keys float32 (heads, ceil_div(tokens, CHUNK) * CHUNK, ceil_div(cols, 8) * 8)
// scratch: u float32 (heads, ceil_div(tokens, CHUNK) * CHUNK, ceil_div(rows, 16) * 16)
// scratch: within float32 (heads, ceil_div(tokens, CHUNK) * CHUNK, CHUNK)
// scratch: kept float32 (heads, ceil_div(tokens, CHUNK))
// tune: CHUNK = 16, 8, 32
// tune: ROWS = 16, 8
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols <= 256
#include "metalbench/chunked_delta.h"
#include "metalbench/divisor.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void prepare(device const DTYPE* q, device const DTYPE* k, device const DTYPE* v,
                        device const DTYPE* decay, device const DTYPE* beta, device float* w,
                        device float* queries, device float* keys, device float* u,
                        device float* within, device float* kept, constant uint& tokens,
                        constant uint& heads, constant uint& k_heads, constant uint& rows,
                        constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                        uint2 groups [[threadgroups_per_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup ChunkGates<CHUNK> gates;
  const uint head = group.y, first = group.x * CHUNK, count = min(uint(CHUNK), tokens - first);
  const ulong chunk = ulong(head) * groups.x + group.x;
  const uint wide = (cols + 7) / 8 * 8, tall = (rows + 15) / 16 * 16;
  const uint shared = head / (heads / k_heads), pitch = k_heads * cols;
  const ulong own = ulong(first) * pitch + shared * cols;
  const Tokens<DTYPE> of_keys = {k + own, pitch, count, cols};
  const Tokens<DTYPE> of_queries = {q + own, pitch, count, cols};
  const ulong values = (ulong(first) * heads + head) * rows;
  const Tokens<DTYPE> of_values = {v + values, heads * rows, count, rows};
  const ulong at = ulong(first) * heads + head;
  gates.load(decay + at, beta + at, heads, count, thread_index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < CHUNK * CHUNK; i += TG) {
    const uint t = i / CHUNK, j = i % CHUNK;
    within[(chunk * CHUNK + t) * CHUNK + j] = gates.relate(of_keys, of_queries, t, j);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint column = thread_index; column < tall; column += TG) {
    float x[CHUNK];
    UNROLLED
    for (uint t = 0; t < CHUNK; ++t) {
      x[t] = gates.beta[t] * of_values(t, column);
    }
    gates.solve(x, u + chunk * CHUNK * tall + column, tall);
  }
  for (uint column = thread_index; column < wide; column += TG) {
    const ulong to = chunk * CHUNK * wide + column;
    float x[CHUNK];
    UNROLLED
    for (uint t = 0; t < CHUNK; ++t) {
      const float key = of_keys(t, column), from_start = gates.from_start[t];
      x[t] = -gates.beta[t] * from_start * key;
      keys[to + t * wide] = gates.to_end[t] * key;
      queries[to + t * wide] = from_start * of_queries(t, column);
    }
    gates.solve(x, w + to, wide);
  }
  if (thread_index == 0) {
    kept[chunk] = gates.from_start[CHUNK - 1];
  }
}

[[kernel, max_total_threads_per_threadgroup(CHUNK* ROWS / 2)]] void walk(
    device const float* w, device const float* queries, device const float* keys,
    device const float* u, device const float* within, device const float* kept,
    device const float* state, device DTYPE* y, device float* left, constant uint& tokens,
    constant uint& heads, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using State = ChunkedState<CHUNK, ROWS>;
  // check: allow threadgroup-memory a state of ROWS rows stays there from the first chunk to the last
  threadgroup typename State::Memory memory;
  const uint head = group.y, first = group.x * ROWS;
  const uint own = min(uint(ROWS), rows - first);
  const uint wide = (cols + 7) / 8 * 8, tall = (rows + 15) / 16 * 16;
  const ulong from = (ulong(head) * rows + first) * cols;
  State::load(memory, state + from, own, cols, thread_index);
  const uint chunks = (tokens + CHUNK - 1) / CHUNK, pitch = heads * rows;
  const ulong chunk = ulong(head) * chunks;
  ulong at = chunk * CHUNK * wide;
  u += chunk * CHUNK * tall + first;
  within += chunk * CHUNK * CHUNK;
  y += head * rows + first;
  for (uint c = 0; c < chunks; ++c) {
    State::pass(memory, {w + at, queries + at, keys + at, wide}, u, tall, within, kept[chunk + c],
                simdgroup);
    for (uint i = thread_index; i < CHUNK * ROWS; i += State::kThreads) {
      const uint t = c * CHUNK + i / ROWS, r = i % ROWS;
      if (t < tokens && r < own) {
        y[ulong(t) * pitch + r] = DTYPE(memory.answers[i]);
      }
    }
    at += CHUNK * wide;
    u += CHUNK * tall;
    within += CHUNK * CHUNK;
  }
  const RowColumn step = RowColumn::of(State::kThreads, cols);
  RowColumn place = RowColumn::of(thread_index, cols);
  for (uint i = thread_index; i < own * cols; i += State::kThreads) {
    left[from + i] = memory.state[place.row * State::kPitch + place.column];
    place = place.after(step, cols);
  }
}
