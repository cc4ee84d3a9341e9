// Images of bytes, channels last, as normalised floats: (x / 255 - mean) / deviation of the channel.
// A thread has four elements, moved by one load and one store, and divides by the number of channels
// once.
// dispatch: normalize  threads_in_grid=(ceil_div(batch * height * width * channels, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: batch * height * width * channels <= 4294967292
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TG)]] void normalize(
    device const uchar* x, device const float* mean, device const float* deviation,
    device DTYPE* y, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& channels, uint i [[thread_position_in_grid]]) {
  const uint count = batch * height * width * channels;
  const bool whole = 4 * i + 4 <= count;
  const uchar4 bytes = whole ? ((device const uchar4*)x)[i] : uchar4(0);
  vec<DTYPE, 4> values;
  uint channel = 4 * i % channels;
  for (uint j = 0; j < 4; ++j) {
    const float byte = whole ? float(bytes[j]) : 4 * i + j < count ? float(x[4 * i + j]) : 0.0f;
    const float value = (byte / 255.0f - mean[channel]) / deviation[channel];
    values[j] = DTYPE(value);
    if (!whole && 4 * i + j < count) {
      y[4 * i + j] = DTYPE(value);
    }
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
  if (whole) {
    ((device vec<DTYPE, 4>*)y)[i] = values;
  }
}
