// Processes for executors. They are not started in C++: the bindings supply them.
#pragma once

#include <memory>

namespace metalbench::executor {

class Process {
 public:
  // Ends it; it is gone afterwards.
  virtual ~Process() = default;
  // A descriptor of our end of its channel, which the caller is to close.
  [[nodiscard]] virtual int socket() const = 0;
  // The system's number.
  [[nodiscard]] virtual int number() const = 0;
  // Says, as an error, how it ended by itself; `ready` is whether it had answered at all.
  [[noreturn]] virtual void raise_end(bool ready) = 0;
  // Says, as an error, that it sends what cannot be.
  [[noreturn]] virtual void raise_garbled(const char* what) = 0;
};

class Host {
 public:
  virtual ~Host() = default;
  // Must not be called with locks held that others hold who run Python.
  [[nodiscard]] virtual std::unique_ptr<Process> start() = 0;
};

}  // namespace metalbench::executor
