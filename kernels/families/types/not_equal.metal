// kernel: less.metal not_equal
