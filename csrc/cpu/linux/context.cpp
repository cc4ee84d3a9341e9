#include "cpu/context.h"

#include <ucontext.h>

namespace metalbench::cpu {
namespace {

auto& registers(void* context) { return static_cast<ucontext_t*>(context)->uc_mcontext; }

#if defined(__aarch64__)
auto& stack_register(void* context) { return registers(context).sp; }
auto& pc_register(void* context) { return registers(context).pc; }
#else
auto& stack_register(void* context) { return registers(context).gregs[REG_RSP]; }
auto& pc_register(void* context) { return registers(context).gregs[REG_RIP]; }
#endif

}  // namespace

void* Context::stack_pointer() const { return reinterpret_cast<void*>(stack_register(context_)); }

void* Context::pc() const { return reinterpret_cast<void*>(pc_register(context_)); }

void Context::jump(void* stack, void (*target)()) const {
  stack_register(context_) = reinterpret_cast<decltype(+stack_register(context_))>(stack);
  pc_register(context_) = reinterpret_cast<decltype(+pc_register(context_))>(target);
}

}  // namespace metalbench::cpu
