// kernel: sum_rows_int32.metal count_rows
