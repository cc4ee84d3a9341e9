// The classes that the compiler wrote into this image, made ready when it is loaded: before any
// other static initialisation of it.
#pragma once

#include <vector>

#include "runtime/abi.h"

namespace metal_double::runtime {

// Of a class, or of a metaclass. What a later one has replaces what an earlier one has.
[[nodiscard]] const std::vector<const Category*>& categories_of(const Class* type);
// What the category adds to the class, or to the metaclass; may be null.
[[nodiscard]] EntryList<Method>* methods_for(const Class& type, const Category& category);

}  // namespace metal_double::runtime
