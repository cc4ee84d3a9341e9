#pragma once

#include <string>
#include <vector>

namespace metalbench {

// The source with the files that it includes in place of its `#include`s, for compilers that know
// no include paths. `#line` keeps messages at the user's own lines; the first names `filename`.
// Includes of files that are nowhere, and of names that macros hold, are left as they are. So are
// those of absolute names, and of files outside of `filename`'s folder and `include_dirs`, links
// resolved. Raises CompileError for a text that grows beyond the limits in includes.cpp.
[[nodiscard]] std::string with_includes(const std::string& source, const std::string& filename,
                                        const std::vector<std::string>& include_dirs);

// The text apart from the places that its `#line`s name.
[[nodiscard]] std::string without_lines(const std::string& text);

}  // namespace metalbench
