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
  std::int64_t step = 0;  ///< of the weights; 0 where it is not known
  std::vector<Class> classes;
  std::vector<std::vector<std::int64_t>> confusion;  ///< examples [class][class predicted]
  std::optional<double> calibration_error;
};

/// Those in what `eval --json` writes; nullopt where it has none, or none that are whole.
std::optional<ClassFigures> class_figures(const nlohmann::ordered_json& evaluation);

/// A picture that was taken for another class.
struct Mistake {
  std::vector<std::byte> png;
  std::string truth, predicted;
  double probability = 0;  ///< of the class predicted
  std::int64_t row = 0;    ///< of the split, from 0
};

/// What a page says of one run. Where a part is missing, `why_no_...` says why; where that is empty too, nothing is
/// said of it.
struct RunPage {
  std::string name;
  RunHistory history;
  std::vector<std::pair<std::string, std::string>> facts;  ///< {"status", "done"}, ... in the page's order
  std::vector<std::string> notes;                          ///< what the reader must know first
  std::optional<ClassFigures> classes;
  std::string why_no_classes;
  std::vector<Mistake> mistakes;
  std::string why_no_mistakes;
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

/// What several runs are compared by.
struct Comparison {
  std::vector<Difference> differences;
  /// Whether the least of a metric's values is its best, which is marked; none is without this function.
  std::function<bool(std::string_view metric)> lower_is_better;
};

/// One HTML file that needs nothing else: about one run, or several side by side. What comes from the run's files is
/// escaped, and a policy in the page keeps it from loading anything.
std::string html_page(const std::vector<RunPage>& runs, const Comparison& comparison = {});

/// Whether a page may take the place of this file: it is such a page, or does not exist.
bool may_replace_by_page(const std::filesystem::path& file);

}  // namespace mirrortrain::report
