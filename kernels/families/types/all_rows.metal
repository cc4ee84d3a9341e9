// kernel: sum_rows_int32.metal all_rows
