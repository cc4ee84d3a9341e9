#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/library.h"
#include "core/types.h"

namespace metalbench {

// A kernel's parameters as they are written.
struct Signature {
  std::vector<Argument> arguments;  // sizes not known
  std::vector<Attribute> attributes;
};

// Reads the source itself, for words that a device's reflection does not keep.
class SignatureReader {
 public:
  virtual ~SignatureReader() = default;
  // Nothing where the source is beyond our own front end, though the device compiles it.
  [[nodiscard]] virtual std::optional<Signature> read(const std::string& source,
                                                      const CompileOptions& options,
                                                      const std::string& function,
                                                      const FunctionConstants& constants) = 0;
};

}  // namespace metalbench
