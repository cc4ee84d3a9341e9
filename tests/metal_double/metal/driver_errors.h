// Errors of command buffers: those of Metal's codes, and the driver's, which Metal calls internal.
#pragma once

#import <Foundation/Foundation.h>

#include <string>

namespace metal_double {

// As of Switch::fail_command_buffer: a code of Metal's, or first_of_driver and the driver's number.
inline constexpr int first_of_driver = 100;
inline constexpr int gpu_hang = first_of_driver + 3;
inline constexpr int submissions_ignored = first_of_driver + 4;
inline constexpr int innocent_victim = first_of_driver + 5;
inline constexpr int impacting_interactivity = first_of_driver + 14;

// Whether it stops the GPU, so that what else the queue has is not run either.
[[nodiscard]] bool is_fault(int code);

// As Metal describes it; `text` is the engine's words for it, and may be empty.
[[nodiscard]] NSError* error_of(int code, const std::string& text);

}  // namespace metal_double
