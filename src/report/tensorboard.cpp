#include "report/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "report/tensorboard_record.h"
#include "report/tensorboard_summary.h"

namespace mirrortrain::report {
namespace {

/// The numbers of the fields in TensorFlow's event.proto.
namespace event_field {
constexpr int kGraph = 4, kSessionLog = 7;
namespace session_log {
constexpr int kStatus = 1;
}
}  // namespace event_field

void add_scores(std::string_view prefix, const std::optional<Scores>& scores, TensorBoardSummary& summary) {
  if (!scores) return;
  summary.add(fmt::format("{}loss", prefix), scores->loss);
  for (const auto& [name, value] : scores->metrics) summary.add(fmt::format("{}{}", prefix, name), value);
}

void add_state(const std::vector<StateReading>& state, TensorBoardSummary& summary) {
  const auto to_double = [](auto number) { return static_cast<double>(number); };
  for (const StateReading& reading : state) {
    if (reading.value) summary.add("state/" + reading.name, std::visit(to_double, *reading.value));
  }
}

void add_gradient_norms(const GradientNorms& norms, TensorBoardSummary& summary) {
  summary.add("gradient_norm", norms.all);
  for (const auto& [layer, norm] : norms.layers) summary.add("gradient_norm/" + layer, norm);
}

/// Sub-runs ("" is the run itself) with their values.
using Summaries = std::map<std::string, TensorBoardSummary>;

/// More curves than this in a chart are not readable.
constexpr std::size_t kMostWorkers = 16;

void add_waited_for(const WaitedForWorkers& waited_for, TensorBoardSummary& summary) {
  double largest = 0;
  for (auto [worker, share] : waited_for) {
    largest = std::max(largest, share);
    std::ranges::replace(worker, ' ', '_');
    if (waited_for.size() <= kMostWorkers) summary.add("waited_for/" + worker, share);
  }
  if (waited_for.size() > kMostWorkers) summary.add("waited_for/largest", largest);
}

void add_staleness(const std::vector<std::int64_t>& updates, TensorBoardSummary& summary) {
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
  if (event.scores) add_scores("", event.scores, summaries["train"]);
  TensorBoardSummary& own = summaries[""];
  if (event.learning_rate) own.add("learning_rate", *event.learning_rate);
  own.add("examples_per_second", event.examples_per_second);
  if (event.gradient_norms) add_gradient_norms(*event.gradient_norms, own);
  add_state(event.state, own);
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
  if (event.scores) add_scores("epoch_", event.scores, summaries["train"]);
  if (event.validation) add_scores("", event.validation, summaries["validation"]);
  return summaries;
}

/// The tags are Keras's.
Summaries summaries_of(const HistogramsEvent& event) {
  Summaries summaries;
  TensorBoardSummary& train = summaries["train"];
  for (const auto& [name, histogram] : event.variables) train.add(name + "/histogram", histogram);
  for (const auto& [name, histogram] : event.gradients) train.add(name + "/gradient_histogram", histogram);
  return summaries;
}

Summaries summaries_of(const PicturesEvent& event) {
  Summaries summaries;
  for (const auto& [tag, pictures] : event.pictures) summaries[event.split].add_pictures(tag, pictures);
  for (const auto& [tag, text] : event.texts) summaries[event.split].add_text(tag, text);
  return summaries;
}

Summaries summaries_of(const EvaluationEvent& event) {
  Summaries summaries;
  add_scores("", event.scores, summaries[event.split]);
  return summaries;
}

std::int64_t step_of(const Event& event) {
  return std::visit([](const auto& held) { return held.step; }, event);
}

Summaries summaries_of(const ProgressEvent&) { return {}; }
Summaries summaries_of(const CallbackEvent&) { return {}; }
Summaries summaries_of(const EndEvent&) { return {}; }

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

bool has_files(const std::filesystem::path& folder) {
  std::error_code none;  // the writer reports a folder that cannot be read
  return std::ranges::any_of(std::filesystem::directory_iterator(folder, none), [](const auto& entry) {
    return entry.path().filename().string().starts_with(kFilePrefix);
  });
}

/// TensorBoard reads a folder's files in the order of their names, so the time comes first.
std::filesystem::path new_file_in(const std::filesystem::path& folder) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  for (int number = 0;; ++number) {
    const auto path = folder / fmt::format("{}{:010}.{}.{}.{}", kFilePrefix,
                                           static_cast<std::int64_t>(seconds_since_1970()), host, ::getpid(), number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::optional<std::int64_t> resumed_from_step,
                                     const std::vector<std::string>& sub_runs)
    : folder_(folder), resumed_from_step_(resumed_from_step), is_first_(!has_files(folder) || resumed_from_step == 0) {
  file_of("");
  for (const std::string& sub_run : sub_runs) file_of(sub_run);
  // Its events of later steps are dropped now rather than at the next test.
  if (std::filesystem::exists(folder_ / "test")) file_of("test");
}

void TensorBoardWriter::write_configuration(std::string_view yaml) {
  TensorBoardSummary summary;
  summary.add_text("configuration", fmt::format("```yaml\n{}{}```\n", yaml, yaml.ends_with('\n') ? "" : "\n"));
  file_of("").write(summary.record(first_step()));
}

void TensorBoardWriter::write_graph(std::span<const ModelNode> nodes) {
  if (!is_first_) return;
  ProtoMessage event = tensorboard_event(0);
  event.put_bytes(event_field::kGraph, tensorboard_graph(nodes));
  file_of("").write(tf_record(event.bytes()));
}

OutputFile& TensorBoardWriter::file_of(const std::string& sub_run) {
  if (const auto known = files_.find(sub_run); known != files_.end()) return known->second;
  if (!sub_run.empty()) create_folder(folder_ / sub_run);
  OutputFile& file = files_.try_emplace(sub_run, new_file_in(folder_ / sub_run), OutputFile::Mode::kNew).first->second;
  file.write(tensorboard_version_record());

  // A session that starts at this step replaces the events of this step and of later ones, unless it is the first that
  // TensorBoard sees of the run.
  constexpr std::uint64_t kStart = 1;
  ProtoMessage session;
  session.put_varint(event_field::session_log::kStatus, kStart);
  ProtoMessage event = tensorboard_event(first_step());
  event.put_bytes(event_field::kSessionLog, session.bytes());
  file.write(tf_record(event.bytes()));
  return file;
}

void TensorBoardWriter::write(const Event& event) {
  const Summaries summaries = std::visit([](const auto& held) { return summaries_of(held); }, event);
  for (const auto& [sub_run, summary] : summaries) file_of(sub_run).write(summary.record(step_of(event)));
}

}  // namespace mirrortrain::report
