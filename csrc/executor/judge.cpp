#include "executor/judge.h"

#include <algorithm>
#include <cstdio>

#include "core/errors.h"
#include "executor/processor_time.h"
#include "executor/text.h"

namespace metalbench::executor {
namespace {

constexpr std::size_t most_answer_bytes = std::size_t{1} << 20;
constexpr int first_handshakes = 9;
constexpr int more_handshakes = 3;
// What a process may take to load or to map, however busy the machine is.
constexpr auto for_a_moment = std::chrono::seconds(60);
// Beyond a run's own limit, once more that long: until its threads have stopped.
constexpr std::chrono::nanoseconds least_beyond = std::chrono::seconds(2);
constexpr std::chrono::nanoseconds most_beyond = std::chrono::seconds(10);

SharedStorage& shared(const Buffer& buffer) {
  auto* storage = dynamic_cast<SharedStorage*>(buffer.storage().get());
  if (storage == nullptr) {
    throw DispatchError("the buffer belongs to another device; allocate it on this one");
  }
  return *storage;
}

void put(Writer& message, const Buffer& buffer) {
  SharedStorage& storage = shared(buffer);
  message.put(storage.arena()->number());
  message.put(storage.offset());
  message.put(std::uint64_t{storage.bytes().size()});
  message.put(std::uint64_t{buffer.offset()});
  message.put(std::uint64_t{buffer.size()});
  message.put_text(buffer.dtype());
  const auto& marks = storage.marks();
  message.put(std::uint32_t{marks != nullptr});
  if (marks == nullptr) return;
  message.put(marks->arena()->number());
  message.put(marks->offset());
}

void put(Writer& message, const Size3& size) {
  message.put(size.x);
  message.put(size.y);
  message.put(size.z);
}

void put(Writer& message, const Dispatch& dispatch) {
  message.put(handed_of(*dispatch.pipeline)->number);
  message.put(static_cast<std::uint32_t>(dispatch.bindings.size()));
  for (const Binding& binding : dispatch.bindings) {
    message.put(binding.index);
    message.put_text(binding.name);
    const auto* buffer = std::get_if<Buffer>(&binding.value);
    message.put(std::uint32_t{buffer != nullptr});
    if (buffer != nullptr) {
      put(message, *buffer);
    } else {
      message.put_bytes(std::get<Bytes>(binding.value));
    }
  }
  message.put(static_cast<std::uint32_t>(dispatch.threadgroup_memory.size()));
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    message.put(memory.index);
    message.put(memory.bytes);
  }
  put(message, dispatch.grid);
  message.put(std::uint32_t{dispatch.grid_in_threads});
  put(message, dispatch.threads);
}

template <typename Call>
void for_buffers(const Work& work, const Call& call) {
  for (const Dispatch& dispatch : work.dispatches) {
    for (const Binding& binding : dispatch.bindings) {
      if (const auto* buffer = std::get_if<Buffer>(&binding.value)) call(*buffer);
    }
  }
}

// Takes those out whose objects are no more, and says which they were.
template <typename Key, typename Value>
std::vector<Key> take_gone(std::map<Key, std::weak_ptr<Value>>& known) {
  std::vector<Key> gone;
  std::erase_if(known, [&gone](const auto& each) {
    if (each.second.expired()) gone.push_back(each.first);
    return each.second.expired();
  });
  return gone;
}

Patience until(std::chrono::nanoseconds time, InterruptPoll interrupted = {}) {
  return {std::chrono::steady_clock::now() + time, std::move(interrupted)};
}

double ns_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<cpu::Shape> shapes_of(const Dispatch& dispatch, const cpu::Shapes& shapes) {
  const std::uint32_t size = dispatch.threads.x, grid = dispatch.threads_per_grid().x;
  std::vector<cpu::Shape> found;
  if (grid >= size) found.push_back(cpu::shape_for(shapes.widths(), size));
  if (grid % size != 0) found.push_back(cpu::shape_for(shapes.widths(), grid % size));
  return found;
}

void HandedPipeline::build(const Dispatch& dispatch) {
  if (shapes == nullptr) return;
  for (const cpu::Shape shape : shapes_of(dispatch, *shapes)) {
    if (built_shapes().contains(shape)) continue;
    std::string path = shapes->build(shape);
    const std::lock_guard lock(mutex_);
    built_.emplace(shape, std::move(path));
  }
}

std::shared_ptr<HandedPipeline> Judge::load(const std::shared_ptr<HandedPipeline>& pipeline) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(pipelines_, [&](const auto& each) {
    return each->handed.built.path == pipeline->handed.built.path &&
           each->handed.function == pipeline->handed.function;
  });
  if (known != pipelines_.end()) return *known;
  pipeline->number = pipelines_.size() + 1;
  pipelines_.push_back(pipeline);
  try {
    if (process_ == nullptr || sealed_) {
      start_anew();
    } else {
      load_into_process(*pipeline);
    }
  } catch (...) {
    pipelines_.pop_back();
    throw;
  }
  return pipeline;
}

void Judge::load_into_process(HandedPipeline& pipeline) {
  Writer request(Request::load);
  request.put(pipeline.number);
  put(request, pipeline.handed);
  const Message answer = ask(request, until(for_a_moment));
  Reader told(answer);
  try {
    pipeline.info = info_from(told);
    if (pipeline.info.arguments < pipeline.handed.needed_arguments()) throw Garbled("arguments");
  } catch (const Garbled& error) {
    raise_garbled(error);
  }
  loaded_[pipeline.number];
}

void Judge::load_shapes(const HandedPipeline& pipeline) {
  std::vector<cpu::Shape>& loaded = loaded_[pipeline.number];
  for (const auto& [shape, path] : pipeline.built_shapes()) {
    if (std::ranges::find(loaded, shape) != loaded.end()) continue;
    Writer request(Request::shape);
    request.put(pipeline.number);
    request.put(shape.width);
    request.put(std::uint32_t{shape.rows});
    request.put_text(path);
    (void)ask(request, until(for_a_moment));
    loaded.push_back(shape);
  }
}

void Judge::start_anew() {
  end();
  process_ = host_->start();
  channel_ = std::make_unique<Channel>(process_->socket());
  // Until it has answered no kernel is to blame for what it does.
  (void)ask(Writer(Request::ping), until(for_a_moment));
  ready_ = true;
  for (const auto& pipeline : pipelines_) {
    load_into_process(*pipeline);
    load_shapes(*pipeline);
  }
}

void Judge::end() {
  channel_.reset();
  process_.reset();
  ready_ = sealed_ = false;
  worked_ns_.reset();
  agreement_ = {};
  loaded_.clear();
  arenas_.clear();
  stored_.clear();
  prepared_.clear();
}

bool Judge::lacks(const Work& work) const {
  return std::ranges::any_of(work.dispatches, [&](const Dispatch& dispatch) {
    const HandedPipeline& pipeline = *handed_of(*dispatch.pipeline);
    if (pipeline.shapes == nullptr) return false;
    const std::vector<cpu::Shape>& loaded = loaded_.at(pipeline.number);
    return std::ranges::any_of(shapes_of(dispatch, *pipeline.shapes), [&](cpu::Shape shape) {
      return std::ranges::find(loaded, shape) == loaded.end();
    });
  });
}

void Judge::make_ready(const std::shared_ptr<Work>& work) {
  // Loads nothing any more once a kernel has run.
  if (process_ == nullptr || (sealed_ && lacks(*work))) start_anew();
  for (const auto& pipeline : pipelines_) {
    if (!sealed_) load_shapes(*pipeline);
  }
  if (!prepared_.contains(work->number)) prepare(work);
  if (sealed_) return;
  (void)ask(Writer(Request::seal), until(for_a_moment));
  sealed_ = true;
  for (int i = 0; i < first_handshakes; ++i) ping();
}

void Judge::prepare(const std::shared_ptr<Work>& work) {
  drop_what_is_gone();
  Writer request(Request::prepare);
  request.put(work->number);
  request.put(std::uint32_t{work->null});
  request.put(static_cast<std::uint32_t>(work->dispatches.size()));
  for_buffers(*work, [this](const Buffer& buffer) { map(buffer); });
  for (const Dispatch& dispatch : work->dispatches) put(request, dispatch);
  (void)ask(request, until(for_a_moment));
  prepared_[work->number] = work;
}

void Judge::map(const Buffer& buffer) {
  const SharedStorage& storage = shared(buffer);
  map(storage.arena());
  if (storage.marks() != nullptr) map(storage.marks()->arena());
  stored_[{storage.arena()->number(), storage.offset()}] = buffer.storage();
}

void Judge::map(const std::shared_ptr<Arena>& arena) {
  if (arenas_.contains(arena->number())) return;
  Writer request(Request::map);
  request.put(arena->number());
  request.put(std::uint64_t{arena->size()});
  (void)ask(request, until(for_a_moment), arena->descriptor());
  arenas_[arena->number()] = arena;
}

void Judge::drop_what_is_gone() {
  const auto works = take_gone(prepared_);
  const auto storages = take_gone(stored_);
  const auto arenas = take_gone(arenas_);
  if (works.empty() && storages.empty() && arenas.empty()) return;
  Writer request(Request::drop);
  request.put(static_cast<std::uint32_t>(works.size()));
  for (const std::uint64_t work : works) request.put(work);
  request.put(static_cast<std::uint32_t>(storages.size()));
  for (const auto& [arena, offset] : storages) {
    request.put(arena);
    request.put(offset);
  }
  request.put(static_cast<std::uint32_t>(arenas.size()));
  for (const std::uint64_t arena : arenas) request.put(arena);
  (void)ask(request, until(for_a_moment));
}

double Judge::run(const std::shared_ptr<Work>& work, const RunOptions& options) {
  const std::lock_guard lock(mutex_);
  make_ready(work);
  Writer request(Request::run);
  request.put(work->number);
  request.put(options.passes);
  request.put(std::int64_t{options.time_limit.count()});
  try {
    const Window window = timed(request, options);
    const double counted_ns = agreement_.settle(window.reported_ns, window.seen_ns);
    for (int i = 0; agreement_.wants_handshakes() && i < more_handshakes; ++i) ping();
    return counted_ns;
  } catch (const ForgedTimes&) {
    end();  // what else it has done nobody knows
    throw;
  } catch (const Late&) {
    end();
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g",
                  std::chrono::duration<double>(options.time_limit).count());
    throw TimeLimitExceeded("time limit of " + std::string(limit) +
                            " s reached: the kernel's process does not answer; it was ended");
  }
}

double Judge::handshake_ns(const std::shared_ptr<Work>& work) {
  const std::lock_guard lock(mutex_);
  make_ready(work);
  return agreement_.handshake_ns();
}

void Judge::ping() {
  RunOptions options;
  agreement_.note_handshake(timed(Writer(Request::ping), options).seen_ns);
}

Window Judge::timed(const Writer& request, const RunOptions& options) {
  check_idle();
  const Clock::time_point start = Clock::now();
  const auto beyond = std::clamp(options.time_limit, least_beyond, most_beyond);
  const Message answer =
      exchange(request, until(options.time_limit + beyond, options.interrupted), {});
  Window window;
  window.seen_ns = ns_since(start);
  note_idle();
  const Message behind = done(answer);
  Reader told(behind);
  try {
    window.reported_ns = told.get<double>();
    told.expect_end();
  } catch (const Garbled& error) {
    raise_garbled(error);
  }
  return window;
}

void Judge::check_idle() {
  const auto now_ns = processor_time_ns(process_->number());
  if (!now_ns || !worked_ns_) return;
  agreement_.check_idle(*now_ns - *worked_ns_, ns_since(idle_since_));
}

void Judge::note_idle() {
  worked_ns_ = processor_time_ns(process_->number());
  idle_since_ = Clock::now();
}

Message Judge::ask(const Writer& request, const Patience& patience, std::optional<int> descriptor) {
  try {
    const Message answer = exchange(request, patience, descriptor);
    // What it does behind this request is not what it was measured at.
    worked_ns_.reset();
    return done(answer);
  } catch (const Late&) {
    end();
    throw MachineError(
        "[isolation] a kernel's process does not answer before any kernel has run in it; run "
        "again with less else running");
  }
}

Message Judge::exchange(const Writer& request, const Patience& patience,
                        std::optional<int> descriptor) {
  try {
    channel_->send(request.message(), patience, descriptor);
    return channel_->receive(most_answer_bytes, patience).message;
  } catch (const Gone&) {
    const auto process = std::move(process_);
    const bool ready = ready_;
    end();
    process->raise_end(ready);
    throw;  // which that never comes to, though not every compiler knows
  } catch (const Garbled& error) {
    raise_garbled(error);
  } catch (const Interrupted&) {
    end();
    throw;
  }
}

void Judge::raise_garbled(const Garbled& error) {
  const auto process = std::move(process_);
  end();
  process->raise_garbled(error.what());
  throw Error(error.what());  // which that never comes to, though not every compiler knows
}

Message Judge::done(const Message& answer) {
  Reader message(answer);
  try {
    const auto kind = message.get<std::uint32_t>();
    if (kind == static_cast<std::uint32_t>(Answer::done)) {
      return {answer.begin() + sizeof kind, answer.end()};
    }
    if (kind > static_cast<std::uint32_t>(last_answer)) throw Garbled("no such answer");
    raise(message, static_cast<Answer>(kind));
  } catch (const Garbled& error) {
    raise_garbled(error);
  }
}

void Judge::raise(Reader& message, Answer kind) {
  const std::string said = readable(message.get_text());
  const std::string path = message.get_text();
  const auto offset = message.get<std::uint64_t>();
  message.expect_end();
  const std::string text = placed(said, path, offset);
  switch (kind) {
    case Answer::kernel_fault:
      throw KernelFault(text);
    case Answer::time_limit:
      throw TimeLimitExceeded(text);
    case Answer::dispatch_error:
      throw DispatchError(text);
    case Answer::unsupported:
      throw Unsupported(text);
    case Answer::out_of_memory:
      throw OutOfMemoryError(text);
    case Answer::machine_error:
      throw MachineError(text);
    case Answer::done:
    case Answer::error:
      break;
  }
  throw Error(text);
}

// "[kernel] what" with file and line before what happened: the executor has no files to look in.
std::string Judge::placed(const std::string& text, const std::string& path,
                          std::uint64_t offset) const {
  const bool known = std::ranges::any_of(pipelines_, [&](const auto& each) {
    const auto shapes = each->built_shapes();
    return each->handed.built.path == path ||
           std::ranges::any_of(shapes, [&](const auto& built) { return built.second == path; });
  });
  const std::size_t bracket = text.find("] ");
  if (!known || bracket == std::string::npos) return text;
  const auto line = front_end_->symbolize(path, offset);
  if (!line) return text;
  const std::string where = line->file + ":" + std::to_string(line->line) + ": ";
  return text.substr(0, bracket + 2) + where + text.substr(bracket + 2);
}

}  // namespace metalbench::executor
