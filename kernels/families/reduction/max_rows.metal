// kernel: sum_rows.metal max_rows
