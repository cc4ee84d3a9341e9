#include "executor/judge.h"

#include <algorithm>
#include <cstdio>

#include "core/errors.h"
#include "executor/dispatch_messages.h"

namespace metalbench::executor {
namespace {

constexpr int first_handshakes = 7;
constexpr int more_handshakes = 3;
// Time limit for loading and mapping, even on a busy machine.
constexpr auto for_a_moment = std::chrono::seconds(60);

template <typename Call>
void for_buffers(const Work& work, const Call& call) {
  for (const Dispatch& dispatch : work.dispatches) {
    for (const Binding& binding : dispatch.bindings) {
      if (const auto* buffer = std::get_if<Buffer>(&binding.value)) call(*buffer);
      const auto* textures = std::get_if<Textures>(&binding.value);
      if (textures == nullptr) continue;
      for (const Texture& texture : *textures) call(texture.buffer());
    }
  }
}

// Remove entries whose objects have expired, and return their keys.
template <typename Key, typename Value>
std::vector<Key> take_gone(std::map<Key, std::weak_ptr<Value>>& known) {
  std::vector<Key> gone;
  std::erase_if(known, [&gone](const auto& each) {
    if (each.second.expired()) gone.push_back(each.first);
    return each.second.expired();
  });
  return gone;
}

}  // namespace

std::shared_ptr<PrebuiltPipeline> Judge::load(const std::shared_ptr<PrebuiltPipeline>& pipeline) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(pipelines_, [&](const auto& each) {
    return each->kernel.built.path == pipeline->kernel.built.path &&
           each->kernel.function == pipeline->kernel.function;
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

void Judge::load_into_process(PrebuiltPipeline& pipeline) {
  Writer request(Request::load);
  request.put(pipeline.number);
  put(request, pipeline.kernel);
  const Message answer = ask(request, until(for_a_moment));
  Reader told(answer);
  try {
    pipeline.info = info_from(told);
    if (pipeline.info.arguments < pipeline.kernel.needed_arguments())
      throw MalformedMessage("arguments");
  } catch (const MalformedMessage& error) {
    raise_malformed(error);
  }
  loaded_[pipeline.number];
}

void Judge::load_shapes(const PrebuiltPipeline& pipeline) {
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
  // Before the first answer, no kernel can cause a failure.
  (void)ask(make_busy_request({}), until(for_a_moment));
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
  time_audit_ = {};
  loaded_.clear();
  arenas_.clear();
  stored_.clear();
  prepared_.clear();
}

bool Judge::lacks(const Work& work) const {
  return std::ranges::any_of(work.dispatches, [&](const Dispatch& dispatch) {
    const PrebuiltPipeline& pipeline = *find_prebuilt(*dispatch.pipeline);
    if (pipeline.shapes == nullptr) return false;
    const std::vector<cpu::Shape>& loaded = loaded_.at(pipeline.number);
    return std::ranges::any_of(shapes_of(dispatch, *pipeline.shapes), [&](cpu::Shape shape) {
      return std::ranges::find(loaded, shape) == loaded.end();
    });
  });
}

void Judge::make_ready(const std::shared_ptr<Work>& work) {
  // An executor does not load after its first kernel has run.
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
  drop_released();
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

void Judge::drop_released() {
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
  try {
    const WindowTimes window = time_window(make_request(Request::run, *work, options), options);
    const double counted_ns = time_audit_.audit_window(window.reported_ns, window.observed_ns);
    for (int i = 0; time_audit_.needs_handshakes() && i < more_handshakes; ++i) ping();
    return counted_ns;
  } catch (const ForgedTimes&) {
    end();  // its other results cannot be trusted
    throw;
  } catch (const ChannelTimeout&) {
    raise_timeout(options);
  }
}

std::vector<Finding> Judge::check(const std::shared_ptr<Work>& work, const RunOptions& options) {
  const std::lock_guard lock(mutex_);
  make_ready(work);
  Writer request = make_request(Request::check, *work, options);
  request.put(static_cast<std::uint32_t>(options.inputs.size()));
  for (const std::string& each : options.inputs) request.put_text(each);
  try {
    return request_findings(request, options);
  } catch (const ChannelTimeout&) {
    raise_timeout(options);
  }
}

Writer Judge::make_request(Request kind, const Work& work, const RunOptions& options) {
  Writer request(kind);
  request.put(work.number);
  request.put(options.passes);
  request.put(std::int64_t{options.time_limit.count()});
  return request;
}

void Judge::raise_timeout(const RunOptions& options) {
  end();
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g",
                std::chrono::duration<double>(options.time_limit).count());
  throw TimeLimitExceeded("time limit of " + std::string(limit) +
                          " s reached: the kernel's process does not answer; it was ended");
}

double Judge::handshake_ns(const std::shared_ptr<Work>& work) {
  const std::lock_guard lock(mutex_);
  make_ready(work);
  return time_audit_.handshake_ns();
}

}  // namespace metalbench::executor
