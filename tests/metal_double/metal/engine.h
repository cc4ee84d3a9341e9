// The engine that runs the kernels: the cpu device. Free of Objective-C, whose words Python's
// headers do not expect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"

namespace metal_double {

[[nodiscard]] metalbench::Device& engine();

// What a `[[function_constant(index)]]` declares.
struct SourceConstant {
  std::string name;
  std::string type;
  std::uint32_t index = 0;
  bool required = true;
};

[[nodiscard]] std::vector<SourceConstant> function_constants_of(
    const std::string& source, const metalbench::CompileOptions& options);

// The text of the exception that is being handled, be it of C++ or of Python.
[[nodiscard]] std::string current_exception_text();

}  // namespace metal_double
