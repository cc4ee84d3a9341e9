#include "executor/prebuilt_kernel.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/errors.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t most_arguments = std::extent_v<decltype(mb::Info::argument)>;

template <typename Enum>
Enum enum_from(Reader& message, Enum last) {
  const auto value = message.get<std::uint32_t>();
  if (value > static_cast<std::uint32_t>(last)) {
    throw MalformedMessage("no such value: " + std::to_string(value));
  }
  return static_cast<Enum>(value);
}

template <typename Enum>
void put_enum(Writer& message, Enum value) {
  message.put(static_cast<std::uint32_t>(value));
}

class PrebuiltSource final : public cpu::ParsedSource {
 public:
  PrebuiltSource(PrebuiltKernel kernel, std::shared_ptr<const PrebuiltShapes> shapes)
      : kernel_(std::move(kernel)), shapes_(std::move(shapes)) {}

  [[nodiscard]] std::vector<std::string> functions() const override { return {kernel_.function}; }
  [[nodiscard]] cpu::Built build(const std::string& /*function*/,
                                 const FunctionConstants& /*constants*/) const override {
    cpu::Built built = kernel_.built;
    built.shapes = shapes_;
    return built;
  }

 private:
  PrebuiltKernel kernel_;
  std::shared_ptr<const PrebuiltShapes> shapes_;
};

}  // namespace

std::uint32_t PrebuiltKernel::needed_arguments() const {
  std::uint32_t needed = 0;
  for (const std::uint32_t each : built.parameters) needed = std::max(needed, each + 1);
  return needed;
}

void put(Writer& message, const PrebuiltKernel& kernel) {
  message.put_text(kernel.function);
  message.put_text(kernel.filename);
  message.put(std::uint32_t{kernel.checked});
  message.put_text(kernel.built.path);
  message.put_text(kernel.built.entry);
  message.put_text(kernel.built.engine);
  message.put(static_cast<std::uint32_t>(kernel.built.arguments.size()));
  for (std::size_t i = 0; i < kernel.built.arguments.size(); ++i) {
    const Argument& argument = kernel.built.arguments[i];
    message.put_text(argument.name);
    put_enum(message, argument.kind);
    message.put(argument.index);
    message.put_text(argument.type);
    message.put_text(argument.address_space);
    put_enum(message, argument.access);
    message.put(kernel.built.parameters[i]);
  }
  message.put(static_cast<std::uint32_t>(kernel.widths.size()));
  for (const std::uint32_t width : kernel.widths) message.put(width);
}

PrebuiltKernel read_prebuilt(Reader& message) {
  PrebuiltKernel kernel;
  kernel.function = message.get_text();
  kernel.filename = message.get_text();
  kernel.checked = message.get<std::uint32_t>() != 0;
  kernel.built.path = message.get_text();
  kernel.built.entry = message.get_text();
  kernel.built.engine = message.get_text();
  const auto arguments = message.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < arguments; ++i) {
    Argument argument;
    argument.name = message.get_text();
    argument.kind = enum_from(message, ArgumentKind::sampler);
    argument.index = message.get<std::uint32_t>();
    argument.type = message.get_text();
    argument.address_space = message.get_text();
    argument.access = enum_from(message, Access::sample);
    kernel.built.arguments.push_back(std::move(argument));
    kernel.built.parameters.push_back(message.get<std::uint32_t>());
  }
  const auto widths = message.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < widths; ++i) kernel.widths.push_back(message.get<std::uint32_t>());
  return kernel;
}

void put(Writer& message, const mb::Info& info) {
  message.put(info.needs_fibers);
  message.put(info.threadgroup_bytes);
  message.put(info.max_threads);
  message.put(info.counted);
  message.put(info.arguments);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(info.arguments, most_arguments); ++i) {
    const mb::ArgumentInfo& argument = info.argument[i];
    message.put(argument.bytes);
    message.put(argument.align);
    message.put(argument.count);
    put_enum(message, argument.texture.type);
    put_enum(message, argument.texture.texel);
    put_enum(message, argument.texture.access);
    message.put(std::uint32_t{argument.texture.depth});
    put_enum(message, argument.element);
  }
}

mb::Info info_from(Reader& message) {
  mb::Info info{};
  info.abi = mb::abi_version;
  info.needs_fibers = message.get<std::uint32_t>();
  info.threadgroup_bytes = message.get<std::uint32_t>();
  info.max_threads = message.get<std::uint32_t>();
  info.counted = message.get<std::uint32_t>();
  info.arguments = message.get<std::uint32_t>();
  if (info.max_threads == 0 || info.max_threads > mb::max_threads)
    throw MalformedMessage("max_threads");
  if (info.arguments > most_arguments) throw MalformedMessage("arguments");
  for (std::uint32_t i = 0; i < info.arguments; ++i) {
    mb::ArgumentInfo& argument = info.argument[i];
    argument.bytes = message.get<std::uint32_t>();
    argument.align = message.get<std::uint32_t>();
    argument.count = message.get<std::uint32_t>();
    argument.texture.type = enum_from(message, mb::TextureType::texture_buffer);
    argument.texture.texel = enum_from(message, mb::TexelKind::unsigned_integer);
    argument.texture.access = enum_from(message, mb::TextureAccess::read_write);
    argument.texture.depth = message.get<std::uint32_t>() != 0;
    argument.element = enum_from(message, mb::Element::float32);
  }
  message.expect_end();
  return info;
}

std::string PrebuiltShapes::build(cpu::Shape shape) const {
  const auto found = paths_.find(shape);
  if (found == paths_.end()) throw Error("executor: this shape of the kernel was not sent");
  return found->second;
}

std::shared_ptr<const cpu::ParsedSource> PrebuiltFrontEnd::parse(
    const std::string& /*source*/, const CompileOptions& /*options*/) {
  throw Error("executor: compiles nothing");
}

std::optional<cpu::SourceLine> PrebuiltFrontEnd::symbolize(const std::string& path,
                                                           std::uint64_t offset) {
  address_ = {path, offset};
  return std::nullopt;
}

std::shared_ptr<const cpu::ParsedSource> make_prebuilt_source(
    PrebuiltKernel kernel, std::shared_ptr<const PrebuiltShapes> shapes) {
  return std::make_shared<PrebuiltSource>(std::move(kernel), std::move(shapes));
}

}  // namespace metalbench::executor
