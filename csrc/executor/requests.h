// What a judge asks for, as a message has it.
#pragma once

#include "core/buffer.h"
#include "core/dispatch.h"
#include "executor/arena.h"
#include "executor/wire.h"

namespace metalbench::executor {

// Where a buffer lies that both sides map. Throws DispatchError for another device's.
[[nodiscard]] SharedStorage& shared(const Buffer& buffer);
// A launch of a kernel that an executor has loaded, on buffers that it has mapped.
void put(Writer& message, const Dispatch& dispatch);

}  // namespace metalbench::executor
