#include "cpu/switch.h"

#include <cstdint>

#include "msl/mb/switch.h"

#if defined(__APPLE__)
#define SYMBOL(name) "_" #name
#define HIDDEN(name) ".private_extern _" #name "\n"
#define TEXT ".text\n.p2align 4\n"
#else
#define SYMBOL(name) #name
#define HIDDEN(name) ".hidden " #name "\n.type " #name ",%function\n"
#define TEXT ".text\n.p2align 4\n"
#endif
#define FUNCTION(name) ".globl " SYMBOL(name) "\n" HIDDEN(name) SYMBOL(name) ":\n"

// clang-format off
asm(TEXT FUNCTION(mb_switch) MB_SAVE_STACK FUNCTION(mb_resume) MB_RESUME_STACK);
// clang-format on

namespace metalbench::cpu {

#if defined(__x86_64__)
void* fresh_stack(void* top, void (*entry)()) {
  // Six registers, the entry as the return address, and the slot that makes the stack look as
  // after a call: 8 below a multiple of 16.
  auto* word = static_cast<std::uintptr_t*>(top);
  word[-2] = reinterpret_cast<std::uintptr_t>(entry);
  return word - 8;
}
#else
void* fresh_stack(void* top, void (*entry)()) {
  auto* word = static_cast<std::uintptr_t*>(top) - 20;
  word[11] = reinterpret_cast<std::uintptr_t>(entry);  // x30, the link register
  return word;
}
#endif

}  // namespace metalbench::cpu
