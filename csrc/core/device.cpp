#include "core/device.h"

#include "core/errors.h"

namespace metalbench {

void Device::capture(Program& /*program*/, const RunOptions& /*options*/,
                     const std::string& /*path*/) {
  throw Unsupported(info().kind +
                    ": GPU traces are made by Metal; capture on the `metal` device of a Mac");
}

}  // namespace metalbench
