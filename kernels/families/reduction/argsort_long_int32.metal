// kernel: sort_long.metal indices_int32
