#include "report/jsonl.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "report/event_lines.h"
#include "report/json.h"

namespace mirrortrain::report {
namespace {

using nlohmann::ordered_json;

ordered_json object_of(const std::vector<std::pair<std::string, double>>& metrics) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : metrics) object[name] = value;
  return object;
}

void put(ordered_json& object, const std::optional<Scores>& scores) {
  if (!scores) return;
  object["loss"] = scores->loss;
  object["metrics"] = object_of(scores->metrics);
}

/// JSON has no infinity, and null means that reading is undefined.
ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}
ordered_json number(std::int64_t value) { return value; }

ordered_json number(const StateReading::Number& value) {
  return std::visit([](auto held) { return number(held); }, value);
}

void put(ordered_json& object, const std::vector<StateReading>& state) {
  if (state.empty()) return;
  ordered_json readings = ordered_json::object();
  for (const StateReading& reading : state) {
    ordered_json replicas = ordered_json::array();
    for (const auto& copy : reading.replicas) replicas.push_back(number(copy));
    readings[reading.name] = {{"value", reading.value ? number(*reading.value) : ordered_json()},
                              {"replicas", replicas}};
  }
  object["state"] = std::move(readings);
}

/// What a StepEvent and an EpochEvent have of workers.
template <class Event>
void put_workers(ordered_json& object, const Event& event) {
  if (!event.waited_for.empty()) object["waited_for"] = object_of(event.waited_for);
  if (!event.staleness.empty()) object["staleness"] = event.staleness;
}

// These are not lines.
ordered_json object_of(const ProgressEvent&) { return {}; }
ordered_json object_of(const HistogramsEvent&) { return {}; }
ordered_json object_of(const PicturesEvent&) { return {}; }

ordered_json object_of(const StepEvent& event) {
  ordered_json object = {{"event", "step"}, {"step", event.step}, {"epoch", event.epoch}};
  put(object, event.scores);
  if (event.learning_rate) object["learning_rate"] = *event.learning_rate;
  if (event.gradient_norms) {
    object["gradient_norm"] = event.gradient_norms->all;
    object["gradient_norms"] = object_of(event.gradient_norms->layers);
  }
  object["examples_per_second"] = event.examples_per_second;
  if (!event.waiting.empty()) object["waiting"] = event.waiting;
  if (event.waiting_for_data) object["waiting_for_data"] = *event.waiting_for_data;
  put_workers(object, event);
  put(object, event.state);
  object["seconds"] = event.seconds;
  return object;
}

ordered_json object_of(const EpochEvent& event) {
  ordered_json object = {{"event", "epoch"}, {"step", event.step}, {"epoch", event.epoch}};
  put(object, event.scores);
  if (event.validation) put(object["validation"], event.validation);
  put_workers(object, event);
  put(object, event.state);
  object["seconds"] = event.seconds;
  return object;
}

ordered_json object_of(const EvaluationEvent& event) {
  ordered_json object = {
      {"event", "evaluation"}, {"split", event.split}, {"step", event.step}, {"examples", event.examples}};
  put(object, event.scores);
  return object;
}

ordered_json object_of(const CallbackEvent& event) {
  ordered_json object = {{"event", "callback"},
                         {"callback", event.callback},
                         {"step", event.step},
                         {"epoch", event.epoch},
                         {"metric", event.metric},
                         {"split", event.split},
                         {"best", event.best ? ordered_json(*event.best) : ordered_json()},
                         {"best_epoch", event.best_epoch}};
  if (event.learning_rate) object["learning_rate"] = *event.learning_rate;
  return object;
}

ordered_json object_of(const EndEvent& event) {
  constexpr const char* kStatus[] = {"done", "stopped", "failed"};
  return {{"event", "end"},
          {"status", kStatus[static_cast<int>(event.status)]},
          {"step", event.step},
          {"epoch", event.epoch},
          {"seconds", event.seconds}};
}

/// Whether to keep a finished line, as the `number`-th kept one: its event happened by `step` and will not be repeated.
bool stays(std::string_view line, std::int64_t number, std::int64_t step, const DoneAgain& again) {
  const ordered_json event = parse_json_if_valid<ordered_json>(line);
  if (!event.is_object() || !event.contains("step") || !event["step"].is_number_integer()) return false;
  const std::int64_t done = event["step"].get<std::int64_t>();
  const std::string kind = text_in(event, "event");
  if (done > step || kind == "end") return false;
  const bool is_of_the_end = kind == "evaluation" || text_in(event, "callback") == "restore_best";
  if (is_of_the_end) return done < step || !again.evaluations;
  return number <= again.lines;
}

}  // namespace

std::string to_json(const Event& event) {
  const ordered_json object = std::visit([](const auto& held) { return object_of(held); }, event);
  return object.is_null() ? "" : json_line(object);
}

JsonlWriter::JsonlWriter(const std::filesystem::path& path, std::int64_t lines)
    : path_(path), file_(path, OutputFile::Mode::kAppend), lines_(lines) {}

void JsonlWriter::write(const Event& event) {
  std::string line = to_json(event);
  if (line.empty()) return;
  line += '\n';
  file_.write(line);
  ++lines_;
}

void JsonlWriter::sync() {
  if (!file_.is_in_place()) {
    throw Error(
        fmt::format("{} was moved, removed or replaced while the run wrote to it; put the run folder back, or "
                    "resume the run where it is now",
                    path_.string()));
  }
  file_.sync();
}

std::int64_t cut_back_jsonl(const std::filesystem::path& path, std::int64_t step, const DoneAgain& again) {
  if (!std::filesystem::exists(path)) return 0;
  const std::string text = read_text_file(path);
  std::string kept;
  std::int64_t lines = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!stays(line, lines + 1, step, again)) continue;
    kept.append(line).push_back('\n');
    ++lines;
  }
  if (kept != text) write_file(path, kept);
  return lines;
}

}  // namespace mirrortrain::report
