// How many objects of which class live. Constants and blocks are not counted.
#pragma once

#include <cstdint>
#include <string>

namespace metal_double {

[[nodiscard]] std::int64_t live_object_count();
// "class count" a line, classes that have any.
[[nodiscard]] std::string live_objects_text();

}  // namespace metal_double
