// kernel: sum_middle_axis.metal max_middle_axis
