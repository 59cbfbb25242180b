#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/format.h"
#include "report/page/figures.h"
#include "report/page/run_history.h"

namespace mirrortrain::report {

/// How well each class is distinguished from the others.
struct ClassFigures {
  struct Class {
    std::string name;
    double precision = 0, recall = 0, f1 = 0;
    std::int64_t examples = 0;
  };
  std::string split;
  std::int64_t step = 0;  ///< of the weights; 0 if unknown
  std::vector<Class> classes;
  std::vector<std::vector<std::int64_t>> confusion;  ///< examples [class][class predicted]
  std::optional<double> calibration_error;
  std::string output{};                        ///< of one of several outputs of the model: its name
  std::vector<CalibrationBin> calibration{};   ///< those with examples; empty if unknown
  std::vector<ThresholdFigures> thresholds{};  ///< of two classes, falling; empty if unknown
  double roc_area = 0, average_precision = 0;  ///< of two classes
};

/// The figures in the output of `eval --json`; nullopt if it has none or they are incomplete.
std::optional<ClassFigures> class_figures(const nlohmann::ordered_json& evaluation);
/// The same for every output of the model that has any.
std::vector<ClassFigures> figures_of_outputs(const nlohmann::ordered_json& evaluation);

/// A misclassified image.
struct Mistake {
  std::vector<std::byte> png;
  std::string truth, predicted;
  double probability = 0;  ///< of the class predicted
  std::int64_t row = 0;    ///< of the split, from 0
};

/// A page's content about one run. If a part is missing, `why_no_...` is the reason; if that is empty too, the part is
/// omitted.
struct RunPage {
  std::string name;
  RunHistory history;
  std::vector<std::pair<std::string, std::string>> facts;  ///< {"status", "done"}, ... in the page's order
  std::vector<std::string> notes;                          ///< shown to the reader first
  std::vector<ClassFigures> classes;                       ///< of each output that predicts classes
  std::string why_no_classes;
  std::vector<Mistake> mistakes;
  std::string why_no_mistakes;
  std::vector<NumberFigures> numbers{};  ///< of each output that is numbers
  std::vector<GeneratedText> texts{};    ///< of a language model
  std::vector<LayerRow> layers;
  std::int64_t trainable_parameters = 0;
  std::string why_no_layers;
  std::string configuration;
};

/// A key of the configuration in which runs differ, and each run's value.
struct Difference {
  std::string key;
  std::vector<std::string> values;
};

/// How several runs are compared.
struct Comparison {
  std::vector<Difference> differences;
  /// Whether a metric's lowest value is its best, which is highlighted; without this function none is.
  std::function<bool(std::string_view metric)> lower_is_better;
};

/// A self-contained HTML file about one run, or about several in comparison. Content from the run's files is escaped,
/// and a content security policy prevents it from loading anything.
std::string html_page(const std::vector<RunPage>& runs, const Comparison& comparison = {});

/// Whether a page may overwrite this file: it is a report page or does not exist.
bool may_replace_by_page(const std::filesystem::path& file);

}  // namespace mirrortrain::report
