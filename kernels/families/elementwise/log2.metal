// kernel: sqrt.metal log2
