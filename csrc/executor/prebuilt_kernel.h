// A prebuilt kernel in the form that the cpu device takes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/front_end.h"
#include "executor/wire.h"
#include "msl/mb/abi.h"

namespace metalbench::executor {

// Description of a kernel that a judge sends to the executor, which loads it.
struct PrebuiltKernel {
  std::string function;
  std::string filename;
  bool checked = false;
  cpu::Built built;                   // without attributes and shapes
  std::vector<std::uint32_t> widths;  // of its shapes; empty without shapes

  // Return the minimum number of parameters in the object's mb_info.
  [[nodiscard]] std::uint32_t needed_arguments() const;
};

void put(Writer& message, const PrebuiltKernel& kernel);
[[nodiscard]] PrebuiltKernel read_prebuilt(Reader& message);

// Serialise the loaded object's mb_info. Throws MalformedMessage for invalid values.
void put(Writer& message, const mb::Info& info);
[[nodiscard]] mb::Info info_from(Reader& message);

// The prebuilt shapes that were sent.
class PrebuiltShapes final : public cpu::Shapes {
 public:
  explicit PrebuiltShapes(std::vector<std::uint32_t> widths) : widths_(std::move(widths)) {}
  [[nodiscard]] const std::vector<std::uint32_t>& widths() const override { return widths_; }
  [[nodiscard]] std::string build(cpu::Shape shape) const override;
  void add(cpu::Shape shape, std::string path) { paths_[shape] = std::move(path); }

 private:
  std::vector<std::uint32_t> widths_;
  std::map<cpu::Shape, std::string> paths_;
};

// Address of a fault: the judge, which has the files, looks up the source line.
struct FaultAddress {
  std::string path;
  std::uint64_t offset = 0;
};

// Compiles nothing; stores the last place that was requested.
class PrebuiltFrontEnd final : public cpu::FrontEnd {
 public:
  [[nodiscard]] std::shared_ptr<const cpu::ParsedSource> parse(
      const std::string& source, const CompileOptions& options) override;
  [[nodiscard]] std::optional<cpu::SourceLine> symbolize(const std::string& path,
                                                         std::uint64_t offset) override;
  [[nodiscard]] std::vector<Frame> frames(const std::string& /*path*/,
                                          const std::vector<std::uint64_t>& /*offsets*/) override {
    return {};
  }
  [[nodiscard]] FaultAddress take_fault_address() { return std::exchange(address_, {}); }

 private:
  FaultAddress address_;
};

[[nodiscard]] std::shared_ptr<const cpu::ParsedSource> make_prebuilt_source(
    PrebuiltKernel kernel, std::shared_ptr<const PrebuiltShapes> shapes);

}  // namespace metalbench::executor
