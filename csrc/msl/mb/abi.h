// What a lowered kernel and the runtime of its device agree on.
#pragma once

// With MB_GPU a kernel is compiled for the threads of a GPU.
#ifndef MB_GPU
#define MB_GPU 0
#endif

#if MB_GPU
#include "gpu/abi.h"
namespace mb {
using gpu::Launch;
}
#else
#include "cpu/abi.h"
#endif
