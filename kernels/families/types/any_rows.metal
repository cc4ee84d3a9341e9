// kernel: sum_rows_int32.metal any_rows
