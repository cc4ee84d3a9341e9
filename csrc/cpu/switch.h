// Switching between stacks in the runtime. csrc/msl/mb/cpu/switch.h describes the layout of a saved
// stack.
#pragma once

#include <cstddef>

extern "C" {
// Save the current stack position in *save and continue at `load`.
[[gnu::visibility("hidden")]] void mb_switch(void** save, void* load);
// Second half of mb_switch: with the stack pointer at a saved position, a jump here continues it.
[[gnu::visibility("hidden")]] void mb_resume();
}

namespace metalbench::cpu {

// Prepare a stack that ends at `top` (16-byte aligned): a switch to `fresh_stack(top)` then calls
// `entry`, which must not return. Can be repeated, since `entry` leaves the top intact.
void prepare_stack(void* top, void (*entry)());
[[nodiscard]] void* fresh_stack(void* top);

}  // namespace metalbench::cpu
