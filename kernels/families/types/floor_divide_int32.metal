// kernel: bitwise_and.metal floor_divide_int32
