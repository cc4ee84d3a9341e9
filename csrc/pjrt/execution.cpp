#include <nanobind/nanobind.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

void check_call(const Execute& arguments, const Compiled& compiled) {
  if (arguments.executable->deleted) {
    throw Failure(Code::kInvalidArgument, "expected a live executable, got one that was deleted");
  }
  if (arguments.devices != 1) {
    throw Failure(Code::kUnimplemented,
                  "expected one device, got " + std::to_string(arguments.devices));
  }
  check_own(*compiled.client, arguments.device, nullptr);
  const auto& results = given(arguments.results, "lists of results");
  if (!compiled.types.empty()) given(results, "a list of results");
  if (arguments.argument_count > 0) given(given(arguments.arguments, "lists of arguments"), "one");
}

// Python describes the first argument that does not fit.
void check_arguments(const Compiled& compiled, std::span<Buffer* const> buffers) {
  bool fits = buffers.size() == compiled.input_types.size();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = given<const Buffer>(buffers[i], "a buffer");
    // Its run may be deferred, and only its own client submits that.
    if (buffer.client != compiled.client) {
      throw Failure(Code::kInvalidArgument, "argument " + std::to_string(i) +
                                                ": expected a buffer of the executable's client, "
                                                "got one of another client");
    }
    fits = fits && buffer.type == compiled.input_types[i] &&
           buffer.dimensions == compiled.input_shapes[i];
  }
  if (fits) return;
  const WithGil held;
  nb::list given_types;
  for (const Buffer* buffer : buffers) {
    nb::list shape;
    for (const std::int64_t size : buffer->dimensions) shape.append(size);
    given_types.append(nb::make_tuple(buffer->type, nb::tuple(shape)));
  }
  compiled.program.get().attr("reject_arguments")(given_types);
}

// Return whether the program may overwrite each argument: it is donated, and not excluded by the
// caller.
std::vector<bool> list_donated(const Compiled& compiled, const ExecuteOptions* options,
                               std::size_t count) {
  std::span<const std::int64_t> kept;
  if (options != nullptr && options->kept_count > 0) {
    kept = {&given(options->kept, "non_donatable_input_indices"), options->kept_count};
  }
  std::vector<bool> donated(count);
  for (const std::int64_t number : compiled.donated) {
    if (std::ranges::find(kept, number) != kept.end()) continue;
    if (number >= 0 && static_cast<std::size_t>(number) < count) {
      donated[static_cast<std::size_t>(number)] = true;
    }
  }
  return donated;
}

// Submit a program. Return the error of Ctrl-C, after which Python raises its exception when this
// call returns, but only if the call succeeds. Throws Failure for other errors.
std::optional<Error> submit(const Compiled& compiled, std::span<Buffer* const> buffers,
                            const std::vector<bool>& donated,
                            std::vector<metalbench::Buffer>& found, Marker& end) {
  try {
    // All of them must be live before the first one is donated.
    std::vector<metalbench::Buffer> memory;
    memory.reserve(buffers.size());
    for (const Buffer* buffer : buffers) memory.push_back(buffer->memory());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (donated[i]) buffers[i]->remove();
    }
    ExecutionPlan& plan = compiled.plan();
    const WithoutGil released;
    check(execution().execute(plan, std::move(memory), found, end));
  } catch (const Failure& failure) {
    if (failure.code != Code::kCancelled) throw;
    return Error{failure.code, failure.what()};
  }
  return std::nullopt;
}

// Return whether a run waits until something needs its results: it needs a compiler, or results of
// a run that waits.
bool is_deferrable(const Compiled& compiled, std::span<Buffer* const> buffers) {
  if (!compiled.can_be_deferred) return false;
  return !compiled.has_plan() || std::ranges::any_of(buffers, [](const Buffer* buffer) {
    return buffer->completion()->is_deferred();
  });
}

void defer(Client& client, std::shared_ptr<const Compiled> compiled,
           std::span<Buffer* const> buffers, const std::vector<bool>& donated,
           const std::vector<std::shared_ptr<Value>>& results) {
  const std::vector<std::size_t>& bytes = compiled->result_bytes;
  const std::size_t size = std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
  DeferredRun run{std::move(compiled), {}, results, results[0]->completion, size};
  for (const Buffer* buffer : buffers) run.arguments.push_back(buffer->value());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (donated[i]) buffers[i]->remove();
  }
  client.deferred->add(std::move(run));
}

void execute(Execute& arguments) {
  // A function of the host may destroy the executable meanwhile.
  const std::shared_ptr<const Compiled> held =
      given(arguments.executable, "an executable").compiled;
  const Compiled& compiled = *held;
  Client& client = given(compiled.client, "a client");
  check_call(arguments, compiled);
  const std::size_t count = arguments.argument_count;
  const std::span<Buffer* const> buffers(count > 0 ? arguments.arguments[0] : nullptr, count);
  check_arguments(compiled, buffers);
  const std::vector<bool> donated = list_donated(compiled, arguments.options, count);
  std::shared_ptr<Completion> completion;
  std::vector<std::shared_ptr<Value>> values;
  if (is_deferrable(compiled, buffers)) {
    completion = std::make_shared<Completion>(client.deferred->weak_from_this());
    for (std::size_t i = 0; i < compiled.types.size(); ++i) {
      values.push_back(std::make_shared<Value>(std::nullopt, completion));
    }
    defer(client, held, buffers, donated, values);
  } else {
    Marker end;
    std::vector<metalbench::Buffer> found;
    std::optional<Error> interruption = submit(compiled, buffers, donated, found, end);
    completion = std::make_shared<Completion>(std::move(end), std::move(interruption));
    for (std::size_t i = 0; i < compiled.types.size(); ++i) {
      auto memory = i < found.size() ? std::optional(std::move(found[i])) : std::nullopt;
      values.push_back(std::make_shared<Value>(std::move(memory), completion));
    }
  }
  std::vector<std::unique_ptr<Buffer>> results;
  for (std::size_t i = 0; i < values.size(); ++i) {
    results.push_back(std::make_unique<Buffer>(client, std::move(values[i]),
                                               compiled.result_bytes[i], compiled.types[i],
                                               compiled.shape(i)));
  }
  if (arguments.done != nullptr) arguments.done[0] = new Event(std::move(completion));
  for (std::size_t i = 0; i < results.size(); ++i) {
    arguments.results[0][i] = results[i].release();
  }
}

}  // namespace

void define_execution(Api& api) { define<Function::LoadedExecutable_Execute, &execute>(api); }

}  // namespace metalbench::pjrt
