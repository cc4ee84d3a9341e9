// Every threadgroup halves the same vector in place, as reported of kaldi-asr/kaldi#3036.
// tune: BUG = 1, 0
// value: n = 192
// value: half_n = 96
// buffer: v float32 (n) normal inout
// dispatch: halve threadgroups=(1 + BUG) threads=(96)
#include <metal_stdlib>
using namespace metal;

kernel void halve(device float* v, constant uint& half_n,
                  uint t [[thread_position_in_threadgroup]]) {
  v[t] += v[t + half_n];  // bug: race
}
