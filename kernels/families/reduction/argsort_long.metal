// kernel: sort_long.metal indices_float32
