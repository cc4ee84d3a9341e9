#include "cpu/refused_calls.h"

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

namespace metalbench::cpu {
namespace {

constexpr std::string_view beginning = "\n[confinement] refused system call ";
constexpr std::size_t most_digits = 10;

// Signal handler in a process whose memory may be corrupted: it must not allocate.
void on_refused_call(int signal, siginfo_t* info, void*) {
  char text[beginning.size() + most_digits + 1];
  char* end = text + beginning.copy(text, beginning.size());
  char digits[most_digits];
  std::size_t count = 0;
  auto number = static_cast<unsigned>(info->si_syscall);
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count != 0) *end++ = digits[--count];
  *end++ = '\n';
  // A failure cannot be reported.
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, text, static_cast<std::size_t>(end - text));
  // The default action has been restored.
  raise(signal);
}

}  // namespace

void tell_of_refused_calls() {
  struct sigaction ours{};
  ours.sa_sigaction = &on_refused_call;
  ours.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND);
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSYS, &ours, nullptr);
}

}  // namespace metalbench::cpu
