// Processes for executors. They are started in Python: the bindings supply them.
#pragma once

#include <memory>

namespace metalbench::executor {

class Process {
 public:
  // End the process and wait until it is gone.
  virtual ~Process() = default;
  // Return a descriptor of our end of its channel; the caller closes it.
  [[nodiscard]] virtual int socket() const = 0;
  // Return the process identifier.
  [[nodiscard]] virtual int number() const = 0;
  // Throw an error about how the process ended; `ready` is whether it had ever answered.
  [[noreturn]] virtual void raise_end(bool ready) = 0;
  // Throw an error about an invalid message from the process.
  [[noreturn]] virtual void raise_malformed(const char* what) = 0;
};

class Host {
 public:
  virtual ~Host() = default;
  // Call without locks that threads running Python may need.
  [[nodiscard]] virtual std::unique_ptr<Process> start() = 0;
};

}  // namespace metalbench::executor
