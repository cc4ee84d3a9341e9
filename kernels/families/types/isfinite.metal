// kernel: isnan.metal isfinite
