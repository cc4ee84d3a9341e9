#pragma once

#include <string>
#include <vector>

namespace metalbench {

// Return the source with included files in place of its `#include`s, for compilers without include
// paths. `#line` directives preserve the user's line numbers; the first names `filename`. Some
// includes stay as they are: missing files, names from macros, absolute names, and files outside of
// `filename`'s folder and `include_dirs` (after links are resolved). Throws CompileError if the
// text grows beyond the limits in includes.cpp.
[[nodiscard]] std::string with_includes(const std::string& source, const std::string& filename,
                                        const std::vector<std::string>& include_dirs);

// Return the text without its `#line` directives.
[[nodiscard]] std::string without_lines(const std::string& text);

}  // namespace metalbench
