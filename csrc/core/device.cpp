#include "core/device.h"

#include "core/errors.h"

namespace metalbench {

std::shared_ptr<const void> Device::describe(const Texture& /*texture*/) const { return nullptr; }

std::shared_ptr<Queue> Device::make_queue(bool checked) {
  return make_dispatch_queue(shared_from_this(), checked);
}

Timing Program::run(const RunOptions& options) {
  ResidencyScope residency({this});
  const Timing timing = start(options)->wait();
  residency.leave();
  return timing;
}

ResidencyScope::ResidencyScope(std::initializer_list<Program*> programs) {
  try {
    for (Program* program : programs) {
      if (program == nullptr) continue;
      program->enter();
      programs_.push_back(program);
    }
  } catch (...) {
    leave_ignoring_errors();
    throw;
  }
}

ResidencyScope::~ResidencyScope() { leave_ignoring_errors(); }

void ResidencyScope::leave_ignoring_errors() {
  while (!programs_.empty()) {
    try {
      leave();
    } catch (const Error&) {
    }
  }
}

void ResidencyScope::leave() {
  while (!programs_.empty()) {
    Program* program = programs_.back();
    programs_.pop_back();
    program->leave();
  }
}

std::vector<Finding> Program::check(const RunOptions& /*options*/) {
  throw Unsupported("only the `cpu` device goes on after what checked builds find");
}

void Device::capture(Program& /*program*/, const RunOptions& /*options*/,
                     const std::string& /*path*/) {
  throw Unsupported(info().kind +
                    ": GPU traces are made by Metal; capture on the `metal` device of a Mac");
}

}  // namespace metalbench
