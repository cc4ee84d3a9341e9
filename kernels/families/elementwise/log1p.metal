// kernel: sqrt.metal log1p
