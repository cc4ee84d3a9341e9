// Binary interface of a GPU's runtime and a lowered kernel. Included by both: C++17, freestanding,
// no library.
#pragma once

#include "../info.h"

namespace mb::gpu {

// One dispatch: the only parameter of a kernel, by value.
struct Launch {
  Dim3 threads_per_grid;
  Dim3 threadgroups_per_grid;
  Dim3 threads_per_threadgroup;  // as dispatched; groups at the grid's edge may have fewer
  u32 is_flat;                   // 1: the GPU's grid is one row of all threadgroups
  // Addresses are numbers: a pointer in a parameter would count as one to any kind of memory.
  u64 textures;  // as mb::Texture, by index, as many as the kernel has
  u64 samplers;
  u64 buffers[max_buffers];
  u32 threadgroup_offset[max_threadgroup_arguments];  // offsets in the dynamic threadgroup memory
};

// C symbols of a kernel's PTX.
//
// mb_entry: the kernel; its parameter is a Launch.
// mb_info:  an Info, as bytes. Its threadgroup_bytes are zero: the PTX declares that memory.
// mb_arena: dynamic threadgroup memory; the launch sets its size.

}  // namespace mb::gpu
