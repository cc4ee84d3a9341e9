// Position of a thread in the grid.
#pragma once

#include "lift.h"

namespace mb {

struct Place {
  const Launch* launch;
  Dim3 group;       // threadgroup_position_in_grid
  Dim3 group_size;  // number of existing threads in this group
  Dim3 thread;      // thread_position_in_threadgroup
  Dim3 thread_in_grid;
  u32 simdgroups;
};

}  // namespace mb
