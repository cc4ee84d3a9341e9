// kernel: less.metal equal
