// kernel: random_uniform.metal random_gumbel
