// Attributes that keep the values of a thread in registers. An array of a thread can only be in
// registers if no index of it is computed at run time.
#pragma once

// For functions that a loop calls in each iteration. A call would pass the registers of the loop
// through memory. Metal's compiler inlines everything, other compilers need the attribute.
#define INLINED __attribute__((always_inline))

// Before a loop with a constant number of iterations over an array of registers or of matrices.
// Compilers do not unroll such a loop by themselves if it is large.
#define UNROLLED _Pragma("clang loop unroll(full)")

// The same for GPUs: their compilers unroll such a loop fully up to 16384 instructions. On
// processors an array is in the first-level cache, and LLVM decides as for any loop.
#define UNROLLED_ON_GPU _Pragma("clang loop unroll(enable)")

// Before a loop with a constant number of iterations that have nothing in common: unrolled, it
// would need more code, and registers for the loads of all iterations. Processors ignore it.
#define ROLLED _Pragma("clang loop unroll(disable)")
