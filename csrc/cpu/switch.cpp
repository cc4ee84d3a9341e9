#include "cpu/switch.h"

#include <cstddef>
#include <cstdint>

#include "msl/mb/cpu/switch.h"
#include "object_file.h"

#define TEXT ".text\n.p2align 4\n"
#define FUNCTION(name) ".globl " MB_SYMBOL(name) "\n" MB_HIDDEN(name) MB_SYMBOL(name) ":\n"

// Start a stack below the registers that were loaded from its top, so that they are preserved; one
// of them holds the target.
#if defined(__x86_64__)
#define START_STACK  \
  "subq $64, %rsp\n" \
  "jmpq *%rbx\n"
#else
#define START_STACK    \
  "sub sp, sp, #160\n" \
  "br x19\n"
#endif

// clang-format off
asm(TEXT FUNCTION(mb_switch) MB_SAVE_STACK FUNCTION(mb_resume) MB_RESUME_STACK
    FUNCTION(mb_start) START_STACK);
// clang-format on

extern "C" [[gnu::visibility("hidden")]] void mb_start();

namespace metalbench::cpu {
namespace {

// Slots that MB_RESUME_STACK loads, in words from the saved stack pointer.
#if defined(__x86_64__)
// The slot above the seven aligns the stack as after a call: 8 below a multiple of 16.
constexpr std::size_t words = 8, first_register = 4, return_address = 6;
#else
constexpr std::size_t words = 20, first_register = 0, return_address = 11;
#endif

}  // namespace

void prepare_stack(void* top, void (*entry)()) {
  auto* word = static_cast<std::uintptr_t*>(fresh_stack(top));
  word[first_register] = reinterpret_cast<std::uintptr_t>(entry);
  word[return_address] = reinterpret_cast<std::uintptr_t>(&mb_start);
}

void* fresh_stack(void* top) { return static_cast<std::uintptr_t*>(top) - words; }

}  // namespace metalbench::cpu
