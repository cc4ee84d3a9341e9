// A quantised block has eight bytes and then its scale; a loop over bytes goes one too far.
// tune: BUG = 1, 0
// value: blocks = 8
// buffer: packed uint8 (blocks, 12) integers 0 256
// buffer: y float32 (blocks) output
// dispatch: dequantise threads_in_grid=(blocks) threads=(8)
#include <metal_stdlib>
using namespace metal;

struct Block {
  uchar nibbles[8];
  uint scale;
};

kernel void dequantise(device const Block* packed, device float* y,
                       uint i [[thread_position_in_grid]]) {
  device const uchar* byte = packed[i].nibbles;
  device const uchar* end = byte + (BUG ? 9 : 8);
  float sum = 0;
  for (; byte != end; ++byte) {
    sum += float(*byte & 15) + float(*byte >> 4);  // bug: out-of-bounds
  }
  y[i] = sum * float(packed[i].scale % 7);
}
