kernel void sigmoid(global const float* restrict x, global float* restrict y) {
  const uint i = get_global_id(0);
  const float v = x[i];
  y[i] = 1.0f / (1.0f + exp(-v));
}
