// Compiled MSL: a library of functions, and pipelines made from one of them.
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
  bool checked = false;            // catch undefined behaviour; slow
  bool fast_math = true;           // Metal's default
  std::vector<std::string> tools;  // what a checked build is for, beyond what all of them find
  bool counted = false;            // count what threads do; slow
};

using ConstantKey = std::variant<std::uint32_t, std::string>;  // index or name
using ConstantScalar = std::variant<bool, std::int64_t, double>;
// A vector is its components.
using ConstantValue = std::variant<bool, std::int64_t, double, std::vector<ConstantScalar>>;
using FunctionConstants = std::map<ConstantKey, ConstantValue>;

struct PipelineInfo {
  std::string name;
  std::string filename;
  std::vector<Argument> arguments;
  std::vector<Attribute> attributes;
  std::uint32_t threadgroup_bytes = 0;  // static
  std::uint32_t max_threads = 1024;
  bool needs_fibers = false;
  std::string engine = "metal";  // of the cpu device: "loops", "fibers" or "vectors"
  std::string engine_reason;     // why not "vectors"
  // Of "vectors": how many threads one call may run, where they lie along x; the largest first.
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
  // Says that pipelines of these are going to be asked for, which some devices compile faster at
  // once.
  virtual void prepare(const std::vector<std::string>& /*functions*/) {}
  // Throws CompileError; DispatchError when there is no such function.
  [[nodiscard]] virtual std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) = 0;
};

}  // namespace metalbench
