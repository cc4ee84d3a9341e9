// kernel: bitwise_invert.metal population_count
