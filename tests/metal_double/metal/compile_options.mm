#include "compile_options.h"

#include <atomic>
#include <string>

#include "control.h"
#include "errors.h"
#include "language_version.h"

namespace {

constexpr NSInteger safe_math = 0;
constexpr NSInteger relaxed_math = 1;
constexpr NSInteger fast_math = 2;
constexpr NSInteger fast_functions = 0;
constexpr NSInteger precise_functions = 1;

constexpr double first_with_math_modes = 15;

std::atomic<NSUInteger> last_version = 0;
std::atomic<NSInteger> last_mode = fast_math;

constexpr NSUInteger version(NSUInteger major, NSUInteger minor) { return (major << 16) + minor; }

// Of the macOS that the double stands for.
NSUInteger newest_version() {
  const double os_major = metal_double::value(metal_double::Switch::os_major);
  if (os_major >= 27) return version(4, 1);
  if (os_major >= 26) return version(4, 0);
  return os_major >= 15 ? version(3, 2) : version(3, 1);
}

}  // namespace

@implementation MTLCompileOptions {
  NSInteger mode_;
  NSInteger functions_;
}
- (instancetype)init {
  if ((self = [super init]) != nil) {
    self.fastMathEnabled = YES;
    _languageVersion = MTLLanguageVersion3_1;
  }
  return self;
}
- (void)setFastMathEnabled:(BOOL)enabled {
  mode_ = enabled ? fast_math : safe_math;
  functions_ = enabled ? fast_functions : precise_functions;
}
- (BOOL)fastMathEnabled {
  return mode_ == fast_math;
}
- (void)setMathMode:(NSInteger)mathMode {
  mode_ = mathMode;
}
- (NSInteger)mathMode {
  return mode_;
}
- (void)setMathFloatingPointFunctions:(NSInteger)functions {
  functions_ = functions;
}
- (NSInteger)mathFloatingPointFunctions {
  return functions_;
}
@end

namespace metal_double {

metalbench::CompileOptions compile_options(MTLCompileOptions* options) {
  metalbench::CompileOptions found;
  found.filename = "program_source";
  if (options == nil) return found;
  // The engine has one flag for both, and keeps NaN and infinity as relaxed math does.
  found.fast_math = options.mathMode != safe_math;
  last_mode = options.mathMode;
  if ((options.mathFloatingPointFunctions == fast_functions) != found.fast_math) {
    violation("newLibraryWithSource: fast functions with safe math, or precise ones without it");
  }
  if (options.mathMode == relaxed_math &&
      metal_double::value(metal_double::Switch::os_major) < first_with_math_modes) {
    violation("newLibraryWithSource: this macOS does not know relaxed math");
  }
  last_version = options.languageVersion;
  if (last_version > newest_version()) {
    violation("newLibraryWithSource: this macOS does not know the language version " +
              std::to_string(last_language_version()));
  }
  // Metal's compiler defines the macro.
  if (last_version != newest_version() || last_version >= version(4, 0)) {
    const NSUInteger chosen = last_version;
    found.macros["__METAL_VERSION__"] =
        std::to_string((chosen >> 16) * 100 + (chosen & 0xffff) * 10);
  }
  NSDictionary<NSString*, NSObject*>* macros = options.preprocessorMacros;
  for (NSString* name in macros) {
    NSObject* value = macros[name];
    found.macros[to_string(name)] =
        [value isKindOfClass:[NSString class]]
            ? to_string(static_cast<NSString*>(value))
            : std::to_string(static_cast<NSNumber*>(value).longLongValue);
  }
  return found;
}

double last_math_mode() { return static_cast<double>(last_mode); }

double last_language_version() {
  const NSUInteger version = last_version;
  return static_cast<double>(version >> 16) + static_cast<double>(version & 0xffff) / 10;
}

}  // namespace metal_double
