// Moving between stacks, from the runtime. What a left stack looks like is in msl/mb/switch.h.
#pragma once

#include <cstddef>

extern "C" {
// Saves where this stack stands in *save and continues where `load` was saved.
[[gnu::visibility("hidden")]] void mb_switch(void** save, void* load);
// The second half of mb_switch: with the stack pointer at a saved place, jumping here continues it.
[[gnu::visibility("hidden")]] void mb_resume();
}

namespace metalbench::cpu {

// Prepares a stack that ends at `top` (16-byte aligned) so that switching to `fresh_stack(top)`
// calls `entry`, which must never return; time and again, since what runs there stays below.
void prepare_stack(void* top, void (*entry)());
[[nodiscard]] void* fresh_stack(void* top);

}  // namespace metalbench::cpu
