#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/library.h"

namespace metalbench::cpu {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
};

// A kernel that was lowered and compiled for this machine.
struct Built {
  std::string path;                       // of the shared object
  std::vector<Argument> arguments;        // element_bytes not yet known
  std::vector<std::uint32_t> parameters;  // position of each argument in the parameter list
  std::vector<Attribute> attributes;
};

// MSL source that was read, and can be built function by function.
class ParsedSource {
 public:
  virtual ~ParsedSource() = default;
  [[nodiscard]] virtual std::vector<std::string> functions() const = 0;
  [[nodiscard]] virtual Built build(const std::string& function,
                                    const FunctionConstants& constants) const = 0;
};

// The compiler behind the cpu device. It is not written in C++: the bindings supply it.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;
  [[nodiscard]] virtual std::shared_ptr<const ParsedSource> parse(
      const std::string& source, const CompileOptions& options) = 0;
  [[nodiscard]] virtual std::optional<SourceLine> symbolize(const std::string& path,
                                                            std::uint64_t offset) = 0;
};

}  // namespace metalbench::cpu
