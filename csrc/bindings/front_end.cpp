// The compiler for the cpu device: metalbench.msl.engine, imported on first use.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

nb::module_ engine() { return nb::module_::import_("metalbench.msl.engine"); }

nb::dict to_python(const FunctionConstants& constants) {
  nb::dict dict;
  for (const auto& [key, value] : constants) {
    const nb::object name = std::visit([](const auto& k) { return nb::cast(k); }, key);
    dict[name] = std::visit([](const auto& v) { return nb::cast(v); }, value);
  }
  return dict;
}

std::string text(const nb::handle& record, const char* key) {
  return nb::cast<std::string>(record[key]);
}

ArgumentKind kind_from(const std::string& name) {
  for (const ArgumentKind kind :
       {ArgumentKind::threadgroup, ArgumentKind::texture, ArgumentKind::sampler}) {
    if (name == to_string(kind)) return kind;
  }
  return ArgumentKind::buffer;
}

Argument argument_from(const nb::handle& record) {
  Argument argument;
  argument.name = text(record, "name");
  argument.kind = kind_from(text(record, "kind"));
  argument.index = nb::cast<std::uint32_t>(record["index"]);
  argument.type = text(record, "type");
  argument.address_space = text(record, "address_space");
  argument.access = text(record, "access") == "read" ? Access::read : Access::read_write;
  return argument;
}

Signature signature_from(const nb::handle& result) {
  Signature signature;
  for (const nb::handle record : result.attr("arguments")) {
    signature.arguments.push_back(argument_from(record));
  }
  for (const nb::handle record : result.attr("attributes")) {
    signature.attributes.push_back({text(record, "name"), text(record, "type")});
  }
  return signature;
}

class PythonShapes final : public cpu::Shapes {
 public:
  explicit PythonShapes(nb::object built)
      : widths_(nb::cast<std::vector<std::uint32_t>>(built.attr("widths"))),
        handle_(built),
        built_(keep_alive(std::move(built))) {}

  [[nodiscard]] const std::vector<std::uint32_t>& widths() const override { return widths_; }

  [[nodiscard]] std::string build(cpu::Shape shape) const override {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::string>(handle_.attr("entry")(shape.width, shape.rows));
  }

 private:
  std::vector<std::uint32_t> widths_;
  nb::handle handle_;
  std::shared_ptr<void> built_;
};

class PythonSource final : public cpu::ParsedSource {
 public:
  PythonSource(nb::object program, CompileOptions options, bool gpu)
      : program_(keep_alive(program)), handle_(program), options_(std::move(options)), gpu_(gpu) {}

  [[nodiscard]] std::vector<std::string> functions() const override {
    const nb::gil_scoped_acquire gil;
    return nb::cast<std::vector<std::string>>(handle_.attr("functions"));
  }

  [[nodiscard]] cpu::Built build(const std::string& function,
                                 const FunctionConstants& constants) const override {
    const nb::gil_scoped_acquire gil;
    const nb::object given = to_python(constants);
    const nb::object result =
        gpu_ ? engine().attr("build_for_gpu")(handle_, function, given,
                                              nb::arg("fast_math") = options_.fast_math,
                                              nb::arg("architecture") = options_.architecture)
             : engine().attr("build")(
                   handle_, function, given, nb::arg("checked") = options_.checked,
                   nb::arg("fast_math") = options_.fast_math, nb::arg("tools") = options_.tools,
                   nb::arg("counted") = options_.counted);
    cpu::Built built;
    built.path = nb::cast<std::string>(result.attr("path"));
    built.entry = nb::cast<std::string>(result.attr("entry_name"));
    Signature signature = signature_from(result);
    built.arguments = std::move(signature.arguments);
    built.attributes = std::move(signature.attributes);
    for (const nb::handle record : result.attr("arguments")) {
      built.parameters.push_back(nb::cast<std::uint32_t>(record["parameter"]));
    }
    built.engine = nb::cast<std::string>(result.attr("engine"));
    built.reason = nb::cast<std::string>(result.attr("reason"));
    built.any_order = nb::cast<bool>(result.attr("any_order"));
    if (built.engine == "vectors") built.shapes = std::make_shared<PythonShapes>(result);
    return built;
  }

  [[nodiscard]] std::string build_for_unaligned(const std::string& function,
                                                const FunctionConstants& constants) const override {
    if (!gpu_) return build(function, constants).path;
    const nb::gil_scoped_acquire gil;
    const nb::object result = engine().attr("build_for_gpu")(
        handle_, function, to_python(constants), nb::arg("fast_math") = options_.fast_math,
        nb::arg("buffer_alignment") = 1, nb::arg("architecture") = options_.architecture);
    return nb::cast<std::string>(result.attr("path"));
  }

  void build_many(const std::vector<std::string>& functions) const override {
    if (gpu_ || options_.checked || options_.counted) return;
    const nb::gil_scoped_acquire gil;
    engine().attr("build_many")(handle_, functions, nb::arg("fast_math") = options_.fast_math);
  }

 private:
  std::shared_ptr<void> program_;
  nb::handle handle_;
  CompileOptions options_;
  bool gpu_;
};

class PythonFrontEnd final : public cpu::FrontEnd {
 public:
  explicit PythonFrontEnd(bool gpu) : gpu_(gpu) {}

  [[nodiscard]] std::shared_ptr<const cpu::ParsedSource> parse(
      const std::string& source, const CompileOptions& options) override {
    const nb::gil_scoped_acquire gil;
    nb::object program =
        engine().attr("parse")(source, options.filename, options.macros, options.include_dirs);
    return std::make_shared<PythonSource>(std::move(program), options, gpu_);
  }

  [[nodiscard]] std::optional<cpu::SourceLine> symbolize(const std::string& path,
                                                         std::uint64_t offset) override {
    const nb::gil_scoped_acquire gil;
    const nb::object found = engine().attr("symbolize")(path, offset);
    if (found.is_none()) return std::nullopt;
    return cpu::SourceLine{nb::cast<std::string>(found[0]), nb::cast<std::uint32_t>(found[1]),
                           nb::cast<std::string>(found[2])};
  }

  [[nodiscard]] std::vector<Frame> frames(const std::string& path,
                                          const std::vector<std::uint64_t>& offsets) override {
    const nb::gil_scoped_acquire gil;
    std::vector<Frame> frames;
    for (const nb::handle each : engine().attr("frames")(path, offsets)) {
      frames.push_back({nb::cast<std::string>(each[0]), nb::cast<std::string>(each[1]),
                        nb::cast<std::uint32_t>(each[2]), nb::cast<std::uint32_t>(each[3])});
    }
    return frames;
  }

 private:
  bool gpu_;
};

class PythonSignatures final : public SignatureReader {
 public:
  [[nodiscard]] std::optional<Signature> read(const std::string& source,
                                              const CompileOptions& options,
                                              const std::string& function,
                                              const FunctionConstants& constants) override {
    const nb::gil_scoped_acquire gil;
    const nb::object found =
        engine().attr("signature")(source, options.filename, options.macros, options.include_dirs,
                                   function, to_python(constants));
    if (found.is_none()) return std::nullopt;
    return signature_from(found);
  }
};

}  // namespace

std::shared_ptr<SignatureReader> python_signatures() {
  return std::make_shared<PythonSignatures>();
}

std::shared_ptr<cpu::FrontEnd> python_front_end(bool gpu) {
  return std::make_shared<PythonFrontEnd>(gpu);
}

}  // namespace metalbench::bindings
