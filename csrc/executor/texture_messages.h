// Serialisation of textures and samplers between a judge and an executor.
#pragma once

#include <functional>

#include "core/dispatch.h"
#include "executor/wire.h"

namespace metalbench::executor {

void put(Writer& message, const Buffer& buffer);
void put(Writer& message, const Textures& textures);
void put(Writer& message, const Samplers& samplers);

// `buffer_from` reads a buffer that put() has written.
[[nodiscard]] Textures textures_from(Reader& message,
                                     const std::function<Buffer(Reader&)>& buffer_from);
[[nodiscard]] Samplers samplers_from(Reader& message);

}  // namespace metalbench::executor
