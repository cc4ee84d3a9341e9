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
  // The line of the kernel's file that calls this code of a header: "k.metal:7". Else empty.
  std::string call;
};

// Shape of the threadgroups that an entry of a vectorised kernel supports. One call runs `width`
// threads. With `rows`, they lie along x and all exist; without, any threadgroup is supported.
struct Shape {
  std::uint32_t width = 0;
  bool rows = false;

  auto operator<=>(const Shape&) const = default;
};

// The shapes of a vectorised kernel, each compiled on first use.
class Shapes {
 public:
  virtual ~Shapes() = default;
  // Return the available widths with rows, in descending order.
  [[nodiscard]] virtual const std::vector<std::uint32_t>& widths() const = 0;
  // Compile and return the path of the shared object. Throws CompileError. Call without locks: the
  // function may wait for threads that hold them.
  [[nodiscard]] virtual std::string build(Shape shape) const = 0;
};

// A kernel that was compiled for this machine.
struct Built {
  std::string path;                       // of the shared object
  std::string entry;                      // suffix of its symbols, for objects with several kernels
  std::vector<Argument> arguments;        // element_bytes is still unknown
  std::vector<std::uint32_t> parameters;  // position of each argument in the parameter list
  std::vector<Attribute> attributes;
  std::string engine;                    // "loops", "fibers" or "vectors"
  std::string reason;                    // why not "vectors"
  std::shared_ptr<const Shapes> shapes;  // of "vectors"
  bool any_order = false;                // whether threadgroups never wait for each other
};

// A parsed MSL source, from which single functions are compiled.
class ParsedSource {
 public:
  virtual ~ParsedSource() = default;
  [[nodiscard]] virtual std::vector<std::string> functions() const = 0;
  [[nodiscard]] virtual Built build(const std::string& function,
                                    const FunctionConstants& constants) const = 0;
  // Return the path of a kernel build for buffers with element alignment only. For GPU sources; on
  // the cpu device every kernel is such a build. Call without locks.
  [[nodiscard]] virtual std::string build_for_unaligned(const std::string& function,
                                                        const FunctionConstants& constants) const {
    return build(function, constants).path;
  }
  // Compile these functions together, without constants, where the front end supports it.
  virtual void build_many(const std::vector<std::string>& /*functions*/) const {}
};

// Interface of the compiler for the cpu device. It is written in Python: the bindings supply it.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;
  [[nodiscard]] virtual std::shared_ptr<const ParsedSource> parse(
      const std::string& source, const CompileOptions& options) = 0;
  [[nodiscard]] virtual std::optional<SourceLine> symbolize(const std::string& path,
                                                            std::uint64_t offset) = 0;
  // Return the user's source lines for code in a shared object, the innermost first, with inlined
  // functions. Empty without readable debug information.
  [[nodiscard]] virtual std::vector<Frame> frames(const std::string& path,
                                                  const std::vector<std::uint64_t>& offsets) = 0;
};

}  // namespace metalbench::cpu
