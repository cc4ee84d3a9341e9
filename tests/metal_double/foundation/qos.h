#pragma once

namespace metal_double {

// Of the calling thread, as a number of qos_class_t.
[[nodiscard]] unsigned qos_class();

}  // namespace metal_double
