// kernel: less.metal less_equal
