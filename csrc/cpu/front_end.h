#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/library.h"

namespace metalbench::cpu {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
};

// Which groups an entry of a vectorised kernel is made for. A call runs `width` threads: with
// `rows` they lie along x, and all of them exist; without, any group will do.
struct Shape {
  std::uint32_t width = 0;
  bool rows = false;

  auto operator<=>(const Shape&) const = default;
};

// The shapes of a vectorised kernel, each compiled when it is first asked for.
class Shapes {
 public:
  virtual ~Shapes() = default;
  // The widths that there are with rows, the largest first.
  [[nodiscard]] virtual const std::vector<std::uint32_t>& widths() const = 0;
  // The path of the shared object. Throws CompileError. Must not be called with locks held: it may
  // wait for others who hold them.
  [[nodiscard]] virtual std::string build(Shape shape) const = 0;
};

// A kernel that was lowered and compiled for this machine.
struct Built {
  std::string path;                       // of the shared object
  std::string entry;                      // what its names there end in, if others are in it
  std::vector<Argument> arguments;        // element_bytes not yet known
  std::vector<std::uint32_t> parameters;  // position of each argument in the parameter list
  std::vector<Attribute> attributes;
  std::string engine;                    // "loops", "fibers" or "vectors"
  std::string reason;                    // why not "vectors"
  std::shared_ptr<const Shapes> shapes;  // of "vectors"
  bool any_order = false;                // whether no threadgroup can wait for another
};

// MSL source that was read, and can be built function by function.
class ParsedSource {
 public:
  virtual ~ParsedSource() = default;
  [[nodiscard]] virtual std::vector<std::string> functions() const = 0;
  [[nodiscard]] virtual Built build(const std::string& function,
                                    const FunctionConstants& constants) const = 0;
  // Return the path of a kernel whose buffers may begin at any address that one of their elements
  // may have. Of sources for GPUs; on the cpu device every kernel is one. Must not be called with
  // locks held.
  [[nodiscard]] virtual std::string build_for_unaligned(
      const std::string& function, const FunctionConstants& constants) const {
    return build(function, constants).path;
  }
  // Build these at once, without constants, as far as that can be done.
  virtual void build_many(const std::vector<std::string>& /*functions*/) const {}
};

// The compiler behind the cpu device. It is not written in C++: the bindings supply it.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;
  [[nodiscard]] virtual std::shared_ptr<const ParsedSource> parse(
      const std::string& source, const CompileOptions& options) = 0;
  [[nodiscard]] virtual std::optional<SourceLine> symbolize(const std::string& path,
                                                            std::uint64_t offset) = 0;
  // The user's lines that led to code in a shared object, the innermost first; those of functions
  // that were inlined too. Empty where its debug information cannot be read.
  [[nodiscard]] virtual std::vector<Frame> frames(const std::string& path,
                                                  const std::vector<std::uint64_t>& offsets) = 0;
};

}  // namespace metalbench::cpu
