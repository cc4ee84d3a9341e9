// kernel: sum_rows.metal min_rows
