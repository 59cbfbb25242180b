#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirrortrain::report {

/// A page's content about a search: its trials, and what each had.
struct StudyPage {
  /// A parameter, as an axis.
  struct Axis {
    std::string name;
    bool is_log = false;
    double low = 0, high = 1;          ///< of numbers
    std::vector<std::string> choices;  ///< in place of numbers: what 0, 1, ... stand for
  };
  struct Trial {
    int number = 0;
    std::string status;
    std::optional<double> value;
    std::optional<double> deviation;        ///< of the folds from the value, their mean, if there are several
    std::string epoch;                      ///< of the value: "4", "4/9"
    std::vector<std::optional<double>> at;  ///< by axis; none where the parameter was not searched
    std::vector<std::string> texts;         ///< the same as shown
    std::string link;                       ///< to the run's page or folder, relative to this page
    std::string reason;                     ///< why it failed
  };
  std::string name;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> notes;
  std::string metric;  ///< "validation accuracy"
  bool less_is_better = true;
  int best = 0;  ///< the number of the best trial; 0: none
  std::vector<Axis> axes;
  std::vector<Trial> trials;  ///< by number
  std::string configuration;
};

/// A self-contained HTML file: the values over the trials, the parameters as parallel coordinates, and a table.
std::string study_html(const StudyPage& study);

}  // namespace mirrortrain::report
