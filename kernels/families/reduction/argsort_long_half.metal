// kernel: sort_long_half.metal indices
