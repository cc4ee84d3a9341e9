#include "metal/library.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/errors.h"
#include "core/includes.h"
#include "metal/archive.h"
#include "metal/errors.h"
#include "metal/function_constants.h"
#include "metal/pool.h"
#include "metal/reflection.h"
#include "metal/strings.h"
#include "metal/tensors.h"

// What macOS 15 adds to MTLCompileOptions. The SDK of macOS 14 does not declare it.
@protocol MathOptions
@property(readwrite, nonatomic) NSInteger mathMode;
@property(readwrite, nonatomic) NSInteger mathFloatingPointFunctions;
@end

namespace metalbench::metal {
namespace {

// MTLMathModeRelaxed: values may be reassociated and approximated. NaN and infinity keep their
// meaning, unlike in MTLMathModeFast.
constexpr NSInteger relaxed_math_mode = 1;
// MTLMathFloatingPointFunctionsFast.
constexpr NSInteger fast_functions = 0;

// The compiler defines this macro from the language version: 320 is Metal 3.2.
constexpr const char* version_macro = "__METAL_VERSION__";

// Named constants are missing in macOS 14's SDK.
constexpr NSUInteger pack_version(NSUInteger major, NSUInteger minor) {
  return (major << 16) + minor;
}

// Return the newest language version of this macOS, as MLX does. 3.2 came with macOS 15, as did
// residency sets.
NSUInteger newest_version(const Capabilities& capabilities) {
  if (capabilities.os_major >= 27) return pack_version(4, 1);
  if (capabilities.os_major >= 26) return pack_version(4, 0);
  if (capabilities.os_major >= 15) return pack_version(3, 2);
  return MTLLanguageVersion3_1;
}

// Return the language version that the version macro of the caller selects, by default the newest.
// Throw CompileError for a version that this macOS does not have.
MTLLanguageVersion language_version(const CompileOptions& options,
                                    const Capabilities& capabilities) {
  const NSUInteger newest = newest_version(capabilities);
  const auto given = options.macros.find(version_macro);
  if (given == options.macros.end()) return static_cast<MTLLanguageVersion>(newest);
  const std::string& text = given->second;
  unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end || number < 100 || number % 10 != 0) {
    throw CompileError(std::string(version_macro) + ": expected a version such as 320, got " +
                       text);
  }
  const NSUInteger wanted = pack_version(number / 100, number / 10 % 10);
  if (wanted > newest) {
    throw CompileError(std::string(version_macro) + ": " + text +
                       " needs a newer macOS; this one has Metal " + std::to_string(newest >> 16) +
                       "." + std::to_string(newest & 0xffff));
  }
  return static_cast<MTLLanguageVersion>(wanted);
}

MTLCompileOptions* compile_options(const CompileOptions& options,
                                   const Capabilities& capabilities) {
  NSMutableDictionary<NSString*, NSObject*>* const macros = [NSMutableDictionary dictionary];
  for (const auto& [name, value] : options.macros) {
    if (name != version_macro) macros[to_ns(name)] = to_ns(value);
  }
  MTLCompileOptions* const result = [[MTLCompileOptions alloc] init];
  result.preprocessorMacros = macros;
  // Where mathMode exists, this also sets it and the functions' precision.
  result.fastMathEnabled = options.fast_math;
  if (options.fast_math && capabilities.os_major >= 15) {
    const id<MathOptions> math = static_cast<id<MathOptions>>(static_cast<id>(result));
    math.mathMode = relaxed_math_mode;
    math.mathFloatingPointFunctions = fast_functions;
  }
  result.languageVersion = language_version(options, capabilities);
  return result;
}

// MTLComputePipeline.h: requiredThreadsPerThreadgroup "must be set" for cooperative tensors, which
// only these headers have.
bool may_have_cooperative_tensors(const std::string& text, const Capabilities& capabilities) {
  if (!capabilities.tensors) return false;
  return text.find("MetalPerformancePrimitives") != std::string::npos ||
         text.find("metal_cooperative_tensor") != std::string::npos;
}

// Replace Metal's name for a source without a file.
std::string with_filename(std::string message, const std::string& filename) {
  constexpr std::string_view unnamed = "program_source:";
  const std::string named = filename + ":";
  for (std::size_t at = message.find(unnamed); at != std::string::npos;
       at = message.find(unnamed, at + named.size())) {
    message.replace(at, unnamed.size(), named);
  }
  return message;
}

std::string join(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text.empty() ? "nothing, the source has no kernel" : text;
}

class MetalLibrary final : public metalbench::Library {
 public:
  MetalLibrary(CompileContext context, const std::string& source, const CompileOptions& options)
      : context_(std::move(context)),
        source_(source),
        options_(options),
        text_(with_includes(source, options.filename, options.include_dirs)) {
    NSError* error = nil;
    library_ = [device() newLibraryWithSource:to_ns(text_)
                                      options:compile_options(options, capabilities())
                                        error:&error];
    if (library_ == nil) throw CompileError(with_filename(describe(error), options.filename));
    find_kernels();
  }

  [[nodiscard]] std::vector<std::string> functions() const override { return kernels_; }

  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) override {
    return with_pool([&]() -> std::shared_ptr<const Pipeline> {
      const std::string name = full_name(function);
      const std::string key = key_of(text_, name, constants);
      if (auto found = context_.pipelines->find(key)) return found;
      auto made = make(name, constants);
      context_.pipelines->put(key, made);
      return made;
    });
  }

 private:
  [[nodiscard]] id<MTLDevice> device() const { return context_.gpu->device(); }
  [[nodiscard]] const Capabilities& capabilities() const { return context_.gpu->capabilities(); }

  void find_kernels() {
    for (NSString* name in library_.functionNames) {
      const id<MTLFunction> function = [library_ newFunctionWithName:name];
      const bool is_kernel = function == nil || function.functionType == MTLFunctionTypeKernel;
      if (is_kernel) kernels_.push_back(to_string(name));
    }
  }

  // Find a kernel in a namespace by its unqualified name, if that is unique.
  [[nodiscard]] std::string full_name(const std::string& name) const {
    if (std::ranges::find(kernels_, name) != kernels_.end()) return name;
    std::vector<std::string> matches;
    std::ranges::copy_if(kernels_, std::back_inserter(matches),
                         [&](const std::string& kernel) { return kernel.ends_with("::" + name); });
    if (matches.size() == 1) return matches.front();
    throw DispatchError(options_.filename + ": error: no kernel is named " + name +
                        "; expected one of: " + join(kernels_));
  }

  [[nodiscard]] std::string key_of(const std::string& text, const std::string& function,
                                   const FunctionConstants& constants) const {
    std::string key = text + '\0' + function + '\0' + describe(constants) + '\0';
    for (const auto& [name, value] : options_.macros) key += name + "=" + value + '\0';
    const bool is_relaxed = capabilities().os_major >= 15;
    return key + (!options_.fast_math ? "safe" : is_relaxed ? "relaxed" : "fast");
  }

  [[nodiscard]] std::string archive_path(const std::string& function,
                                         const FunctionConstants& constants) const {
    const Capabilities& here = capabilities();
    const auto version = std::to_string(language_version(options_, here));
    // The validation layer compiles checks into a pipeline.
    std::string tools;
    for (const std::string& name : here.tools) tools += name + ' ';
    return context_.cache->path({key_of(without_lines(text_), function, constants), version,
                                 here.name, here.os_version, tools},
                                ".binarchive");
  }

  [[nodiscard]] id<MTLFunction> specialized(const std::string& name,
                                            const FunctionConstants& constants) const {
    const id<MTLFunction> function = [library_ newFunctionWithName:to_ns(name)];
    if (function == nil) throw CompileError("[" + name + "] Metal does not give out the function");
    if (constants.empty() && function.functionConstantsDictionary.count == 0) return function;
    NSError* error = nil;
    const id<MTLFunction> result =
        [library_ newFunctionWithName:to_ns(name)
                       constantValues:constant_values(constants, function, library_, name)
                                error:&error];
    if (result == nil) throw failure(name, error);
    return result;
  }

  // Return the options with the language version that Metal compiles for, which decides what a
  // source may contain.
  [[nodiscard]] CompileOptions versioned() const {
    CompileOptions options = options_;
    const NSUInteger version = language_version(options_, capabilities());
    if (version >= pack_version(4, 0)) {
      options.macros[version_macro] =
          std::to_string((version >> 16) * 100 + (version & 0xffff) * 10);
    }
    return options;
  }

  [[nodiscard]] CompileError failure(const std::string& name, NSError* error) const {
    return CompileError("[" + name + "] " + with_filename(describe(error), options_.filename));
  }

  [[nodiscard]] std::shared_ptr<const Pipeline> make(const std::string& name,
                                                     const FunctionConstants& constants) const {
    MTLComputePipelineDescriptor* const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.label = to_ns(name);
    descriptor.computeFunction = specialized(name, constants);
    use_archive(device(), descriptor, archive_path(name, constants));

    MTLComputePipelineReflection* reflection = nil;
    NSError* error = nil;
    const id<MTLComputePipelineState> state =
        [device() newComputePipelineStateWithDescriptor:descriptor
                                                options:MTLPipelineOptionArgumentInfo |
                                                        MTLPipelineOptionBufferTypeInfo
                                             reflection:&reflection
                                                  error:&error];
    if (state == nil) throw failure(name, error);
    const auto written = context_.reader->read(source_, versioned(), name, constants);
    PipelineInfo info;
    info.name = name;
    info.filename = options_.filename;
    info.arguments = arguments_of(reflection, written);
    if (written) info.attributes = written->attributes;
    info.threadgroup_bytes = static_cast<std::uint32_t>(state.staticThreadgroupMemoryLength);
    info.max_threads = static_cast<std::uint32_t>(state.maxTotalThreadsPerThreadgroup);
    require_tensors(info, capabilities());
    const bool per_threads = may_have_cooperative_tensors(text_, capabilities());
    return std::make_shared<MetalPipeline>(std::move(info), state, per_threads ? descriptor : nil);
  }

  CompileContext context_;
  std::string source_;
  CompileOptions options_;
  std::string text_;
  id<MTLLibrary> library_;
  std::vector<std::string> kernels_;
};

}  // namespace

std::shared_ptr<metalbench::Library> make_library(CompileContext context, const std::string& source,
                                                  const CompileOptions& options) {
  if (options.checked) throw Unsupported("metal: checked builds run on the `cpu` device");
  if (options.counted) throw Unsupported("metal: counted builds run on the `cpu` device");
  return with_pool([&] { return std::make_shared<MetalLibrary>(context, source, options); });
}

}  // namespace metalbench::metal
