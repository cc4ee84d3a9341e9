// One query an item, keys and values in tiles of 32, softmax on the way: exp(score - peak) with the
// highest score so far, by which what came before is made smaller.
#define ROWS 1024u
#define DIMS 64u
#define THREADS 128u
#define TILE 32u

kernel void flash_attention(global const float* restrict q, global const float* restrict k,
                            global const float* restrict v, global float* restrict y) {
  local float keys[TILE * DIMS], values[TILE * DIMS];
  const uint thread_index = get_local_id(0);
  const uint head = get_group_id(1) * ROWS * DIMS;
  const uint own = head + (get_group_id(0) * THREADS + thread_index) * DIMS;
  float query[DIMS], sums[DIMS], scores[TILE];
  for (uint d = 0; d < DIMS; ++d) {
    query[d] = q[own + d] * 0.125f;
    sums[d] = 0.0f;
  }
  float peak = -INFINITY, total = 0.0f;
  for (uint first = 0; first < ROWS * DIMS; first += TILE * DIMS) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = thread_index; i < TILE * DIMS; i += THREADS) {
      keys[i] = k[head + first + i];
      values[i] = v[head + first + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float highest = peak;
    for (uint j = 0; j < TILE; ++j) {
      float score = 0.0f;
      for (uint d = 0; d < DIMS; ++d) score += query[d] * keys[j * DIMS + d];
      scores[j] = score;
      highest = fmax(highest, score);
    }
    const float smaller = exp(peak - highest);
    peak = highest;
    total *= smaller;
    for (uint d = 0; d < DIMS; ++d) sums[d] *= smaller;
    for (uint j = 0; j < TILE; ++j) {
      const float weight = exp(scores[j] - peak);
      total += weight;
      for (uint d = 0; d < DIMS; ++d) sums[d] += weight * values[j * DIMS + d];
    }
  }
  const float scale = 1.0f / total;
  for (uint d = 0; d < DIMS; ++d) y[own + d] = sums[d] * scale;
}
