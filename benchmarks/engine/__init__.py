"""The MSL engine of the cpu device against PoCL and plain C, on the same memory in one run.

Each case is the same algorithm in MSL, in OpenCL C and in C, with the same number of threads in
both kernel languages. Where OpenCL lacks what Metal has it does what its authors would: PoCL 3.1
has no sub-groups, so reductions are trees in local memory instead of SIMD-group functions, and
simdgroup_matrix meets the register-blocked kernel. All are built with fast math. Every result is
checked before it is timed.

    python -m benchmarks.engine [NAME...]

With METALBENCH_ENGINE=fibers, kernels that synchronise run a thread at a time.
"""
