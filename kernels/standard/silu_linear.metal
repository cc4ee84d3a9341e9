// kernel: gelu_linear.metal silu
