// kernel: qsdpa_prefix_block4.metal q8
