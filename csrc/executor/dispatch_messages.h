// Serialisation of a judge's requests.
#pragma once

#include "core/buffer.h"
#include "core/dispatch.h"
#include "executor/arena.h"
#include "executor/wire.h"

namespace metalbench::executor {

// Return the buffer's storage, which both processes map. Throws DispatchError for another device's.
[[nodiscard]] SharedStorage& shared(const Buffer& buffer);
// Serialise a launch of a loaded kernel on mapped buffers.
void put(Writer& message, const Dispatch& dispatch);

}  // namespace metalbench::executor
