#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/page/markup.h"

namespace mirrortrain::report {

/// The ends of an axis.
struct Interval {
  double low = 0, high = 1;
};

/// The interval of some finite numbers, which has a length even if all are equal; from 0 to 1 if there are none.
Interval interval_of(const std::vector<double>& numbers);

/// A small diagram in SVG, which is drawn without a script, so that it prints. Points outside of the axes are drawn at
/// their ends.
struct Diagram {
  struct Line {
    std::string name;  ///< in the legend; empty: none
    std::vector<std::pair<double, double>> points;
  };
  struct Bar {
    double from = 0, to = 0, height = 0;
    std::string hint;  ///< shown under the mouse
  };
  std::string title, across, up;  ///< of the diagram and its axes
  Interval x, y;
  std::vector<Bar> bars{};
  std::vector<Line> lines{};
  std::vector<std::pair<double, double>> dots{};
  bool has_diagonal = false;  ///< a dashed line of equal values
};

Markup diagram_markup(const Diagram& diagram);

/// Several beside each other, below each other on a telephone.
Markup diagrams_markup(const std::vector<Diagram>& diagrams);

}  // namespace mirrortrain::report
