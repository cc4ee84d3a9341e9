// kernel: sqrt.metal arctanh
