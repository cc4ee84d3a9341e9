// An expert of -1 means none, and is looked up, as reported of 1bit-MONSTER/1bit-MONSTER#1262.
// tune: BUG = 1, 0
// value: tokens = 16
// value: experts = 4
// value: dim = 32
// buffer: choice int32 (tokens) integers -1 4
// buffer: weight float32 (experts, dim) normal
// buffer: y float32 (tokens, dim) output
// dispatch: route threads_in_grid=(dim, tokens) threads=(32, 1)
#include <metal_stdlib>
using namespace metal;

kernel void route(device const int* choice, device const float* weight, device float* y,
                  constant uint& dim, uint2 at [[thread_position_in_grid]]) {
  int expert = choice[at.y];
  float w = 0;
  if (BUG || expert >= 0) {
    device const float* row = weight + expert * int(dim);
    w = row[at.x];  // bug: out-of-bounds
  }
  y[at.y * dim + at.x] = w;
}
