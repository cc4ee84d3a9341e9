// kernel: sqrt.metal gelu_tanh
