#include "cpu/signals.h"

#include <signal.h>

#include <array>
#include <memory>
#include <mutex>

#include "cpu/context.h"
#include "cpu/switch.h"

namespace metalbench::cpu {
namespace {

// Python does not use it, and its default is to be ignored.
constexpr int stop_signal = SIGURG;
constexpr std::array<int, 5> handled = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, stop_signal};
constexpr std::size_t alternate_stack_bytes = 64 * 1024;

thread_local GroupRunner* guarded = nullptr;
std::array<struct sigaction, handled.size()> previous;

Fault::Kind kind_of(int signal, const void* address) {
  switch (signal) {
    case SIGFPE:
      return Fault::Kind::arithmetic;
    case SIGILL:
      return Fault::Kind::illegal;
    case stop_signal:
      return Fault::Kind::stopped;
    default:
      return guarded->in_guard(address) ? Fault::Kind::stack_overflow : Fault::Kind::bad_address;
  }
}

void pass_on(int signal, siginfo_t* info, void* context) {
  for (std::size_t i = 0; i < handled.size(); ++i) {
    if (handled[i] != signal) continue;
    const struct sigaction& before = previous[i];
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
      before.sa_handler(signal);
    } else if (signal != stop_signal) {
      // After the return, the instruction is repeated, now with the default action.
      sigaction(signal, &before, nullptr);
    }
  }
}

// The processor does not report non-canonical addresses.
bool tells_address([[maybe_unused]] const siginfo_t& info) {
#ifdef SI_KERNEL
  return info.si_code != SI_KERNEL;
#else
  return true;
#endif
}

void on_signal(int signal, siginfo_t* info, void* raw_context) {
  const Context context(raw_context);
  void* stack_pointer = context.stack_pointer();
  if (guarded == nullptr || !guarded->on_fiber(stack_pointer)) {
    pass_on(signal, info, raw_context);
    return;
  }
  const void* address = info->si_addr;
  Fault::Kind kind = kind_of(signal, address);
  if (kind == Fault::Kind::bad_address && !tells_address(*info)) kind = Fault::Kind::no_address;
  void* own = guarded->abandon(kind, context.pc(), address, stack_pointer);
  context.jump(own, &mb_resume);
}

}  // namespace

ThreadGuard::ThreadGuard() {
  stack_t present{};
  sigaltstack(nullptr, &present);
  // Python's faulthandler has one for the main thread.
  if ((present.ss_flags & SS_DISABLE) == 0) return;
  stack_ = std::make_unique<std::byte[]>(alternate_stack_bytes);
  stack_t stack{};
  stack.ss_sp = stack_.get();
  stack.ss_size = alternate_stack_bytes;
  sigaltstack(&stack, nullptr);
}

ThreadGuard::~ThreadGuard() {
  guarded = nullptr;
  if (stack_ == nullptr) return;
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

void guard_this_thread(GroupRunner* runner) { guarded = runner; }

void install_signal_handlers() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < handled.size(); ++i) {
    struct sigaction now{};
    sigaction(handled[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_signal) continue;
    previous[i] = now;
    struct sigaction ours{};
    ours.sa_sigaction = &on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(handled[i], &ours, nullptr);
  }
}

void request_stop(pthread_t worker) { pthread_kill(worker, stop_signal); }

}  // namespace metalbench::cpu
