// Binary interface between a lowered kernel and its device's runtime.
#pragma once

// MB_GPU: the kernel is compiled for the threads of a GPU.
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
