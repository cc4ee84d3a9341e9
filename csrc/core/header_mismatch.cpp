#include "core/header_mismatch.h"

#include <cstdio>

#include "msl/mb/info.h"

namespace metalbench {
namespace {

std::string hexadecimal(std::uint32_t number) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", number);
  return text;
}

}  // namespace

Error header_mismatch(const std::string& device, std::uint32_t found) {
  return Error(
      device +
      ": this extension was built from other MSL headers than kernels are compiled with: " +
      "expected version " + hexadecimal(mb::abi_version) + ", got " + hexadecimal(found) +
      "; install metalbench again (in a checkout: pip install -e .)");
}

}  // namespace metalbench
