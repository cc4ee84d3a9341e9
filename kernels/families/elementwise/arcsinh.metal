// kernel: sqrt.metal arcsinh
