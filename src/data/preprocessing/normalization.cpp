#include "data/preprocessing/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "data/key_error.h"

namespace mirrortrain::data {
namespace {

std::size_t count_of(const PerChannel& values) {
  const auto* const list = std::get_if<std::vector<double>>(&values);
  return list == nullptr ? 1 : list->size();
}

std::vector<std::int64_t> axes_listed(const Axes& axes) {
  const auto* const one = std::get_if<std::int64_t>(&axes);
  return one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(axes);
}

/// The shape whose axes are meant.
Shape shape_meant(const Shape& example, const Shape& wanted) {
  if (example.rank() == wanted.rank() && example.rank() > 0) return example;
  if (example.elements() == wanted.elements()) return wanted.rank() == 0 ? Shape{1} : wanted;
  const bool lacks_channels = example.rank() == 2 && wanted.rank() == 3;
  return lacks_channels ? Shape{example[0], example[1], 1} : example;
}

}  // namespace

config::Section<Normalization> Normalization::section() {
  return config::Section<Normalization>(
             "Subtracts `mean` from the features and divides by the square root of `variance`, or the reverse.")
      .advice("std", "write variance, which is its square: 0.25 for a standard deviation of 0.5")
      .key("adapt", &Normalization::adapt,
           "Whether to compute `mean` and `variance` from the training data, after the transforms before this one. "
           "They are "
           "kept in the run folder.")
      .key(
          "mean", &Normalization::mean,
          "Mean of the features: one number, or one for each position along `axis`, in the order of an example's axes.",
          config::required_unless("adapt", {}), config::non_empty)
      .key("variance", &Normalization::variance,
           "Variance of the features: one number, or one for each position along `axis`.",
           config::required_unless("adapt", {}), config::non_empty, config::at_least(0))
      .relation(R"({"if": {"required": ["adapt"], "properties": {"adapt": {"const": true}}},
                    "then": {"properties": {"mean": {"type": "null"}, "variance": {"type": "null"}}}})")
      .check("adapt",
             [](const Normalization& step) -> std::string {
               const bool has_mean = step.mean.value.has_value(), has_variance = step.variance.value.has_value();
               if (step.adapt && (has_mean || has_variance)) {
                 return "mean and variance are computed from the training data; leave them out, or adapt";
               }
               return step.adapt || (has_mean && has_variance) ? "" : "without it, give mean and variance";
             })
      .check("variance",
             [](const Normalization& step) -> std::string {
               if (!step.mean.value || !step.variance.value) return "";
               const std::size_t means = count_of(*step.mean.value), variances = count_of(*step.variance.value);
               if (means == variances || means == 1 || variances == 1) return "";
               return fmt::format("expected one number, or {} as in mean, found {}", means, variances);
             })
      .key("axis", &Normalization::axis,
           "Axis, or axes, of which each position has its own mean and variance, as the channels have by default; 0 is "
           "the batch, -1 the last axis; null: all numbers of an example share theirs.")
      .key("invert", &Normalization::invert,
           "Whether to multiply by the square root of `variance` and add `mean`, which makes numbers of normalized "
           "ones.")
      .check("axis", [](const Normalization& step) { return step.axis.value ? wrong_axes(*step.axis.value) : ""; })
      .include<OfInput>();
}

SharedStatistics shared_statistics(const Normalization& step, const Shape& example, const Shape& wanted) {
  if (!step.axis.value) return {};
  const bool is_per_channel = *step.axis.value == Axes(std::int64_t{-1});  // of which pictures of any size have as many
  const Shape shape = !is_per_channel ? shape_meant(example, wanted) : Shape{wanted.rank() == 0 ? 1 : wanted.back()};
  std::vector<bool> has_own(shape.rank());
  for (const std::int64_t axis : axes_listed(*step.axis.value)) {
    const auto found = axis_of_example(axis, shape.rank());
    if (!found) {
      throw KeyError(step.axis.place, step.axis.path,
                     fmt::format("expected axes from 1 to {0}, or from -{0} to -1, of the shape {1}, found {2}",
                                 shape.rank(), shape.text(), axis));
    }
    if (has_own[*found]) {
      throw KeyError(step.axis.place, step.axis.path,
                     fmt::format("expected different axes of the shape {}; two are one", shape.text()));
    }
    has_own[*found] = true;
  }
  const auto first = static_cast<std::size_t>(std::ranges::find(has_own, true) - has_own.begin());
  SharedStatistics shared;
  for (std::size_t axis = first; axis < shape.rank(); ++axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    std::vector<std::size_t> of;
    for (const std::size_t number : shared.of) {
      for (std::size_t i = 0; i < extent; ++i) of.push_back(has_own[axis] ? number * extent + i : number);
    }
    shared.of = std::move(of);
    if (!has_own[axis]) continue;
    shared.count *= extent;
    shared.last = extent;
  }
  return shared;
}

Normalization spread(Normalization step, const SharedStatistics& statistics) {
  for (auto* const values : {&step.mean, &step.variance}) {
    const auto* const list = values->value ? std::get_if<std::vector<double>>(&*values->value) : nullptr;
    if (list == nullptr || list->size() == 1) continue;
    if (list->size() != statistics.count && list->size() != statistics.last) {
      throw KeyError(
          values->place, values->path,
          fmt::format("expected one number{}, found {}",
                      statistics.count == 1
                          ? std::string()
                          : fmt::format(", or {}, one for each position along `axis`{}", statistics.count,
                                        statistics.last == statistics.count
                                            ? ""
                                            : fmt::format(", or {}, along the last of them", statistics.last)),
                      list->size()));
    }
    std::vector<double> all;
    for (const std::size_t number : statistics.of) all.push_back((*list)[number % list->size()]);
    values->value = std::move(all);
  }
  return step;
}

}  // namespace mirrortrain::data
