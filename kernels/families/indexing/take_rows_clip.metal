// kernel: take_rows_wrap.metal clip
