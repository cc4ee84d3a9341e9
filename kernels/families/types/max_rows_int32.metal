// kernel: sum_rows_int32.metal max_rows_int32
