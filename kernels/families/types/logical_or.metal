// kernel: logical_and.metal logical_or
