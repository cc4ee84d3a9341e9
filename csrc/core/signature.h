#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/library.h"
#include "core/types.h"

namespace metalbench {

// The parameters of a kernel as written in the source.
struct Signature {
  std::vector<Argument> arguments;  // sizes unknown
  std::vector<Attribute> attributes;
};

// Reads the MSL source for names that the device's reflection does not report.
class SignatureReader {
 public:
  virtual ~SignatureReader() = default;
  // Return nothing if our own front end cannot parse the source, though the device compiles it.
  [[nodiscard]] virtual std::optional<Signature> read(const std::string& source,
                                                      const CompileOptions& options,
                                                      const std::string& function,
                                                      const FunctionConstants& constants) = 0;
};

}  // namespace metalbench
