// Access to the registers of a thread that a signal has interrupted, for each platform.
#pragma once

namespace metalbench::cpu {

class Context {
 public:
  // `context` is the third argument of a signal handler.
  explicit Context(void* context) : context_(context) {}

  [[nodiscard]] void* stack_pointer() const;
  [[nodiscard]] void* pc() const;
  // Make the signal handler return to `target` on this stack.
  void jump(void* stack, void (*target)()) const;

 private:
  void* context_;
};

}  // namespace metalbench::cpu
