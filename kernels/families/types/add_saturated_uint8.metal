// kernel: bitwise_and.metal add_saturated_uint8
