#include "report/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "report/tensorboard_record.h"

namespace mirrortrain::report {
namespace {

/// The numbers of the fields in TensorFlow's event.proto and summary.proto.
namespace field {
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace summary {
constexpr int kValue = 1;
}
namespace value {
constexpr int kTag = 1, kSimpleValue = 2;
}
namespace session_log {
constexpr int kStatus = 1;
}
}  // namespace field

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ProtoMessage event_at(std::int64_t step) {
  ProtoMessage event;
  event.put_double(field::event::kWallTime, seconds_since_1970());
  event.put_varint(field::event::kStep, static_cast<std::uint64_t>(step));
  return event;
}

class Summary {
 public:
  void add(std::string_view tag, double number) {
    ProtoMessage value;
    value.put_bytes(field::value::kTag, tag);
    value.put_float(field::value::kSimpleValue, static_cast<float>(number));
    message_.put_bytes(field::summary::kValue, value.bytes());
  }
  void add_scores(std::string_view prefix, const std::optional<Scores>& scores) {
    if (!scores) return;
    add(fmt::format("{}loss", prefix), scores->loss);
    for (const auto& [name, value] : scores->metrics) add(fmt::format("{}{}", prefix, name), value);
  }
  void add(const std::vector<StateReading>& state) {
    const auto to_double = [](auto number) { return static_cast<double>(number); };
    for (const StateReading& reading : state) {
      if (reading.value) add("state/" + reading.name, std::visit(to_double, *reading.value));
    }
  }
  std::string record(std::int64_t step) const {
    ProtoMessage event = event_at(step);
    event.put_bytes(field::event::kSummary, message_.bytes());
    return tf_record(event.bytes());
  }

 private:
  ProtoMessage message_;
};

/// Sub-runs ("" is the run itself) with their scalars.
using Summaries = std::map<std::string, Summary>;

/// More curves than this in a chart are not readable.
constexpr std::size_t kMostWorkers = 16;

void add_waited_for(const WaitedForWorkers& waited_for, Summary& summary) {
  double largest = 0;
  for (auto [worker, share] : waited_for) {
    largest = std::max(largest, share);
    std::ranges::replace(worker, ' ', '_');
    if (waited_for.size() <= kMostWorkers) summary.add("waited_for/" + worker, share);
  }
  if (waited_for.size() > kMostWorkers) summary.add("waited_for/largest", largest);
}

void add_staleness(const std::vector<std::int64_t>& updates, Summary& summary) {
  double number = 0, total = 0;
  for (std::size_t staleness = 0; staleness < updates.size(); ++staleness) {
    number += static_cast<double>(updates[staleness]);
    total += static_cast<double>(updates[staleness]) * static_cast<double>(staleness);
  }
  if (number == 0) return;
  summary.add("staleness/mean", total / number);
  summary.add("staleness/largest", static_cast<double>(updates.size() - 1));
}

Summaries summaries_of(const StepEvent& event) {
  Summaries summaries;
  if (event.scores) summaries["train"].add_scores("", event.scores);
  Summary& own = summaries[""];
  if (event.learning_rate) own.add("learning_rate", *event.learning_rate);
  own.add("examples_per_second", event.examples_per_second);
  own.add(event.state);
  for (std::size_t lane = 0; lane < event.waiting.size(); ++lane) {
    own.add(fmt::format("waiting/lane_{}", lane), event.waiting[lane]);
  }
  if (event.waiting_for_data) own.add("waiting/for_data", *event.waiting_for_data);
  add_waited_for(event.waited_for, own);
  add_staleness(event.staleness, own);
  return summaries;
}

Summaries summaries_of(const EpochEvent& event) {
  Summaries summaries;
  if (event.scores) summaries["train"].add_scores("epoch_", event.scores);
  if (event.validation) summaries["validation"].add_scores("", event.validation);
  return summaries;
}

Summaries summaries_of(const EvaluationEvent& event) {
  Summaries summaries;
  summaries[event.split].add_scores("", event.scores);
  return summaries;
}

std::int64_t step_of(const Event& event) {
  return std::visit([](const auto& held) { return held.step; }, event);
}

Summaries summaries_of(const ProgressEvent&) { return {}; }
Summaries summaries_of(const CallbackEvent&) { return {}; }
Summaries summaries_of(const EndEvent&) { return {}; }

/// TensorBoard reads a folder's files in the order of their names, so the time comes first.
std::filesystem::path new_file_in(const std::filesystem::path& folder) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  for (int number = 0;; ++number) {
    const auto path = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                           static_cast<std::int64_t>(seconds_since_1970()), host, ::getpid(), number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::int64_t resumed_from_step,
                                     const std::vector<std::string>& sub_runs)
    : folder_(folder), resumed_from_step_(resumed_from_step) {
  file_of("");
  for (const std::string& sub_run : sub_runs) file_of(sub_run);
  // Its events of later steps are dropped now rather than at the next test.
  if (std::filesystem::exists(folder_ / "test")) file_of("test");
}

OutputFile& TensorBoardWriter::file_of(const std::string& sub_run) {
  if (const auto known = files_.find(sub_run); known != files_.end()) return known->second;
  if (!sub_run.empty()) create_folder(folder_ / sub_run);
  OutputFile& file = files_.try_emplace(sub_run, new_file_in(folder_ / sub_run), OutputFile::Mode::kNew).first->second;
  ProtoMessage version;
  version.put_double(field::event::kWallTime, seconds_since_1970());
  version.put_bytes(field::event::kFileVersion, "brain.Event:2");
  file.write(tf_record(version.bytes()));
  if (resumed_from_step_ == 0) return file;

  // A session that starts at this step replaces the events of this step and of later ones.
  constexpr std::uint64_t kStart = 1;
  ProtoMessage session;
  session.put_varint(field::session_log::kStatus, kStart);
  ProtoMessage event = event_at(resumed_from_step_ + 1);
  event.put_bytes(field::event::kSessionLog, session.bytes());
  file.write(tf_record(event.bytes()));
  return file;
}

void TensorBoardWriter::write(const Event& event) {
  const Summaries summaries = std::visit([](const auto& held) { return summaries_of(held); }, event);
  for (const auto& [sub_run, summary] : summaries) file_of(sub_run).write(summary.record(step_of(event)));
}

}  // namespace mirrortrain::report
