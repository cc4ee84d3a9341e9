// A matrix of 4-bit numbers, eight in a word, with a scale and a bias for every 64 of a row; one row
// for 32 items. PoCL 3.1 has no sub-groups: their sums are trees in local memory.
#define COLS 4096u
#define WORDS (COLS / 8)
#define GROUP (64u / 8)

kernel void quantized_matvec(global const uint* restrict w, global const float* restrict scales,
                             global const float* restrict biases, global const float4* restrict x,
                             global float* restrict y) {
  local float sums[8][32];
  const uint lane = get_local_id(0) % 32, part = get_local_id(0) / 32;
  const uint row = get_group_id(0) * 8 + part;
  float sum = 0.0f;
  for (uint i = lane; i < WORDS; i += 32) {
    const uint word = w[row * WORDS + i];
    const float4 low = x[2 * i], high = x[2 * i + 1];
    const uint4 four = (uint4)(word, word >> 4, word >> 8, word >> 12);
    const float product =
        dot(convert_float4(four & 15), low) + dot(convert_float4((four >> 16) & 15), high);
    const float all = dot((float4)(1.0f), low + high);
    const uint at = row * (WORDS / GROUP) + i / GROUP;
    sum += scales[at] * product + biases[at] * all;
  }
  sums[part][lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 16; half_size > 0; half_size /= 2) {
    if (lane < half_size) sums[part][lane] += sums[part][lane + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) y[row] = sums[part][0];
}
