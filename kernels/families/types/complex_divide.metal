// kernel: complex_multiply.metal complex_divide
