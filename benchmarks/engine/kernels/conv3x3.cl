// One output an item; what lies outside of the image is zero.
#define N 4096

kernel void conv3x3(global const float* restrict x, constant float* restrict weights,
                    global float* restrict y) {
  const int at_x = get_global_id(0), at_y = get_global_id(1);
  float sum = 0.0f;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int row = at_y + i - 1, column = at_x + j - 1;
      if (row >= 0 && row < N && column >= 0 && column < N)
        sum += weights[i * 3 + j] * x[row * N + column];
    }
  }
  y[at_y * N + at_x] = sum;
}
