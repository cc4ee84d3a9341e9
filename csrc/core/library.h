// Compiled MSL: a library of functions, and the pipelines made from them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/types.h"

namespace metalbench {

struct CompileOptions {
  std::string filename = "<source>";
  std::map<std::string, std::string> macros;
  std::vector<std::string> include_dirs;
  bool checked = false;            // detect undefined behaviour; slow
  bool fast_math = true;           // Metal's default
  std::vector<std::string> tools;  // further checks of a checked build
  bool counted = false;            // count operations of threads; slow
  std::string architecture = {};   // of the GPU that compiles it, such as `sm_90`
};

using ConstantKey = std::variant<std::uint32_t, std::string>;  // index or name
using ConstantScalar = std::variant<bool, std::int64_t, double>;
// A vector is the list of its components.
using ConstantValue = std::variant<bool, std::int64_t, double, std::vector<ConstantScalar>>;
using FunctionConstants = std::map<ConstantKey, ConstantValue>;

struct PipelineInfo {
  std::string name;
  std::string filename;
  std::vector<Argument> arguments;
  std::vector<Attribute> attributes;
  std::uint32_t threadgroup_bytes = 0;  // static threadgroup memory
  std::uint32_t max_threads = 1024;
  bool needs_fibers = false;
  std::string engine = "metal";  // of the cpu device: "loops", "fibers" or "vectors"
  std::string engine_reason;     // why not "vectors"
  // Of execution mode `vector`: numbers of threads per call, along x, in descending order.
  std::vector<std::uint32_t> engine_widths;
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;
  [[nodiscard]] virtual const PipelineInfo& info() const = 0;
};

class Library {
 public:
  virtual ~Library() = default;
  [[nodiscard]] virtual std::vector<std::string> functions() const = 0;
  // Announce the functions whose pipelines will be requested; some devices compile them faster
  // together.
  virtual void prepare(const std::vector<std::string>& /*functions*/) {}
  // Throws CompileError, or DispatchError if the function does not exist.
  [[nodiscard]] virtual std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) = 0;
};

}  // namespace metalbench
