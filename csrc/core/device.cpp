#include "core/device.h"

#include "core/errors.h"

namespace metalbench {

std::shared_ptr<const void> Device::describe(const Texture& /*texture*/) const { return nullptr; }

std::vector<Finding> Program::check(const RunOptions& /*options*/) {
  throw Unsupported("only the `cpu` device goes on after what checked builds find");
}

void Device::capture(Program& /*program*/, const RunOptions& /*options*/,
                     const std::string& /*path*/) {
  throw Unsupported(info().kind +
                    ": GPU traces are made by Metal; capture on the `metal` device of a Mac");
}

}  // namespace metalbench
