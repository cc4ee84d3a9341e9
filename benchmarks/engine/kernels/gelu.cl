kernel void gelu(global const float* restrict x, global float* restrict y) {
  const uint i = get_global_id(0);
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanh(0.797884561f * (v + 0.044715f * v * v * v)));
}
