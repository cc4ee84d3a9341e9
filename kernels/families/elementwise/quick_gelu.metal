// kernel: sqrt.metal quick_gelu
