#include "executor/finding_messages.h"

#include "executor/readable_text.h"

namespace metalbench::executor {
namespace {

// More than an executor reports, and few enough for a judge's memory.
constexpr std::uint32_t most_findings = 1 << 16;
constexpr std::uint32_t most_offsets = 64;

std::uint32_t count_from(Reader& message, std::uint32_t most) {
  const auto count = message.get<std::uint32_t>();
  if (count > most) throw MalformedMessage(std::to_string(count) + " findings or places");
  return count;
}

}  // namespace

void put(Writer& message, const std::vector<Finding>& findings) {
  message.put(static_cast<std::uint32_t>(findings.size()));
  for (const Finding& each : findings) {
    message.put_text(each.rule);
    message.put_text(each.kernel);
    message.put_text(each.message);
    message.put(each.count);
    message.put(each.places);
    message.put_text(each.object);
    message.put(static_cast<std::uint32_t>(each.offsets.size()));
    for (const std::uint64_t offset : each.offsets) message.put(offset);
    message.put(std::uint32_t{each.declared.has_value()});
    message.put(each.declared.value_or(0));
  }
}

std::vector<Finding> findings_from(Reader& message) {
  std::vector<Finding> findings(count_from(message, most_findings));
  for (Finding& each : findings) {
    each.rule = readable(message.get_text());
    each.kernel = readable(message.get_text());
    each.message = readable(message.get_text());
    each.count = message.get<std::uint64_t>();
    each.places = message.get<std::uint64_t>();
    each.object = message.get_text();
    each.offsets.resize(count_from(message, most_offsets));
    for (std::uint64_t& offset : each.offsets) offset = message.get<std::uint64_t>();
    const bool is_declared = message.get<std::uint32_t>() != 0;
    const auto declared = message.get<std::uint64_t>();
    if (is_declared) each.declared = declared;
  }
  message.expect_end();
  return findings;
}

}  // namespace metalbench::executor
