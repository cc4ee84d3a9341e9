// kernel: sqrt.metal relu_squared
