// kernel: sqrt.metal expm1
