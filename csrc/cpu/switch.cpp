#include "cpu/switch.h"

#include <cstdint>

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

#if defined(__x86_64__)

// clang-format off
asm(TEXT
    FUNCTION(mb_switch)
    "pushq %rbp\n" "pushq %rbx\n" "pushq %r12\n" "pushq %r13\n" "pushq %r14\n" "pushq %r15\n"
    "movq %rsp, (%rdi)\n"
    "movq %rsi, %rsp\n"
    FUNCTION(mb_resume)
    "popq %r15\n" "popq %r14\n" "popq %r13\n" "popq %r12\n" "popq %rbx\n" "popq %rbp\n"
    "ret\n");
// clang-format on

namespace metalbench::cpu {

void* fresh_stack(void* top, void (*entry)()) {
  // Six registers, the entry as the return address, and the slot that makes the stack look as
  // after a call: 8 below a multiple of 16.
  auto* word = static_cast<std::uintptr_t*>(top);
  word[-2] = reinterpret_cast<std::uintptr_t>(entry);
  return word - 8;
}

}  // namespace metalbench::cpu

#elif defined(__aarch64__)

// clang-format off
asm(TEXT
    FUNCTION(mb_switch)
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp, #0]\n"   "stp x21, x22, [sp, #16]\n"  "stp x23, x24, [sp, #32]\n"
    "stp x25, x26, [sp, #48]\n"  "stp x27, x28, [sp, #64]\n"  "stp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\n"    "stp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\n" "stp d14, d15, [sp, #144]\n"
    "mov x9, sp\n"
    "str x9, [x0]\n"
    "mov sp, x1\n"
    FUNCTION(mb_resume)
    "ldp x19, x20, [sp, #0]\n"   "ldp x21, x22, [sp, #16]\n"  "ldp x23, x24, [sp, #32]\n"
    "ldp x25, x26, [sp, #48]\n"  "ldp x27, x28, [sp, #64]\n"  "ldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\n"    "ldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\n" "ldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\n"
    "ret\n");
// clang-format on

namespace metalbench::cpu {

void* fresh_stack(void* top, void (*entry)()) {
  auto* word = static_cast<std::uintptr_t*>(top) - 20;
  word[11] = reinterpret_cast<std::uintptr_t>(entry);  // x30, the link register
  return word;
}

}  // namespace metalbench::cpu

#else
#error "the cpu device runs on x86-64 and aarch64"
#endif
