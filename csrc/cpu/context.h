// The registers of a thread that a signal has interrupted, as the platform lays them out.
#pragma once

namespace metalbench::cpu {

class Context {
 public:
  // What a signal handler gets as its third argument.
  explicit Context(void* context) : context_(context) {}

  [[nodiscard]] void* stack_pointer() const;
  [[nodiscard]] void* pc() const;
  // When the handler returns, `target` runs on the stack.
  void jump(void* stack, void (*target)()) const;

 private:
  void* context_;
};

}  // namespace metalbench::cpu
