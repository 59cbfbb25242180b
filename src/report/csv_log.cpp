#include "report/csv_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/csv_cell.h"
#include "report/event_lines.h"

namespace mirrortrain::report {
namespace {

constexpr std::string_view kValidation = "val_";

using Figures = std::map<std::string, double, std::less<>>;

void add_figures(std::string_view prefix, const std::optional<Scores>& scores, Figures& figures) {
  if (!scores) return;
  figures[fmt::format("{}loss", prefix)] = scores->loss;
  for (const auto& [name, value] : scores->metrics) figures[fmt::format("{}{}", prefix, name)] = value;
}

/// Of a line of metrics.jsonl.
void add_figures(std::string_view prefix, const nlohmann::ordered_json& object, Figures& figures) {
  if (const auto loss = number_in(object, "loss")) figures[fmt::format("{}loss", prefix)] = *loss;
  const nlohmann::ordered_json& metrics = structure_in(object, "metrics");
  for (auto metric = metrics.begin(); metrics.is_object() && metric != metrics.end(); ++metric) {
    if (const auto value = number_in(metrics, metric.key().c_str())) {
      figures[fmt::format("{}{}", prefix, metric.key())] = *value;
    }
  }
}

std::string line_of(std::int64_t epoch, const Figures& figures, const std::vector<std::string>& columns) {
  std::string line = std::to_string(epoch);
  for (const std::string& column : columns) {
    const auto figure = figures.find(column);
    line += ',';
    if (figure == figures.end()) continue;
    // Infinity too is null in metrics.jsonl, from which a resumed run takes the epochs so far.
    line += std::isfinite(figure->second) ? fmt::format("{}", figure->second) : "nan";
  }
  line += '\n';
  return line;
}

/// The columns, and the file with the epochs so far.
std::vector<std::string> begin_file(const std::filesystem::path& path, const std::filesystem::path& events,
                                    std::vector<std::string> figures, bool validates) {
  std::vector<std::string> columns = figures;
  for (const std::string& figure : figures) {
    if (validates) columns.push_back(fmt::format("{}{}", kValidation, figure));
  }
  std::ranges::sort(columns);
  std::string text = "epoch";
  for (const std::string& column : columns) text.append(1, ',').append(csv_cell(column));
  text += '\n';
  for_each_event(events, [&](const nlohmann::ordered_json& event) {
    if (text_in(event, "event") != "epoch") return;
    Figures of_epoch;
    add_figures("", event, of_epoch);
    add_figures(kValidation, structure_in(event, "validation"), of_epoch);
    text += line_of(integer_in(event, "epoch"), of_epoch, columns);
  });
  write_file(path, text);
  return columns;
}

}  // namespace

CsvLog::CsvLog(const std::filesystem::path& path, const std::filesystem::path& events, std::vector<std::string> figures,
               bool validates)
    : columns_(begin_file(path, events, std::move(figures), validates)), file_(path, OutputFile::Mode::kAppend) {}

void CsvLog::write(const Event& event) {
  const auto* const epoch = std::get_if<EpochEvent>(&event);
  if (epoch == nullptr) return;
  Figures figures;
  add_figures("", epoch->scores, figures);
  add_figures(kValidation, epoch->validation, figures);
  file_.write(line_of(epoch->epoch, figures, columns_));
}

}  // namespace mirrortrain::report
