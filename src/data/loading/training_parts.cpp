#include "data/loading/training_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/example_classes.h"

namespace mirrortrain::data {
namespace {

Dataset part_of(const Dataset& whole, const std::vector<std::int64_t>& rows, bool is_range) {
  if (is_range) return whole.view(rows.front(), static_cast<std::int64_t>(rows.size()));
  return whole.select(rows);
}

}  // namespace

Training make_parts(const Dataset& whole, const SplitRows& rows, Adapted adapted) {
  Training training{part_of(whole, rows.train, rows.is_range), std::nullopt, std::move(adapted)};
  if (!rows.validation.empty()) training.validation = part_of(whole, rows.validation, rows.is_range);
  return training;
}

void require_outputs(const std::vector<std::string>& classes, std::size_t output, const std::string& origin,
                     const Wanted& wanted) {
  if (wanted.spec == nullptr || classes.empty()) return;
  const LabelSpec& spec = wanted.spec->labels[output];
  const std::int64_t depth = wanted.one_hot_depth(output);
  const bool tells_two = depth == 0 && spec.classes == 0 && spec.probabilities;
  const auto most = static_cast<std::size_t>(depth > 0 ? depth : tells_two ? 2 : spec.classes);
  if (most == 0 || classes.size() <= most) return;
  const std::string of = wanted.spec->labels.size() > 1 ? fmt::format(" of '{}'", spec.name) : "";
  const std::string found = fmt::format("{}: the labels{} have {} classes ({})", origin, of, classes.size(),
                                        shortened(fmt::format("{}", fmt::join(classes, ", ")), 120));
  if (tells_two) {
    throw Error(found +
                ", but the loss distinguishes two; take sparse_categorical_crossentropy, with an output for each");
  }
  throw Error(fmt::format(
      "{}, but {} {}, so that '{}' has none; {}", found,
      depth > 0 ? "one_hot has the depth" : "the outputs of the model are", most, shortened(classes[most]),
      depth > 0 ? "make the depth and the outputs as many as the classes" : "give the model an output for each class"));
}

std::optional<std::vector<std::int64_t>> classes_of(const std::vector<Labels>& outputs, const Terms& terms) {
  const std::size_t count = terms.wanted.spec != nullptr ? terms.wanted.spec->labels.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Labels& labels : outputs) {
      if (terms.output_of(labels) != i) continue;
      if (auto classes = example_classes(labels, 0, labels.array.rows(), i, terms.wanted)) return classes;
    }
  }
  return std::nullopt;
}

}  // namespace mirrortrain::data
