// kernel: gelu_linear.metal4.metal silu
