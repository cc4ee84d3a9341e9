// How many objects of which class live, blocks on the heap among them. Constants are not counted.
#pragma once

#include <cstdint>
#include <string>

namespace metal_double {

[[nodiscard]] std::int64_t live_object_count();
// "class count" a line, classes that have any.
[[nodiscard]] std::string live_objects_text();

// For an object that lives as long as the image.
void leave_uncounted(const void* object);
// Which it was after all not to do.
void count_again(const void* object);

}  // namespace metal_double
