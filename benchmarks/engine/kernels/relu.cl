kernel void relu(global const float* restrict x, global float* restrict y) {
  const uint i = get_global_id(0);
  const float v = x[i];
  y[i] = fmax(v, 0.0f);
}
