// kernel: sum_rows.metal prod_rows
