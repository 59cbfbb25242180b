#include "tune/check_comparable.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "data/sources/abilities.h"

namespace mirrortrain::tune {
namespace {

/// Whether a key of data.train only says how examples are given to the model, not which there are, nor what the model
/// is to find.
bool is_of_inputs(const std::string& key) {
  const auto names = std::to_array<std::string_view>(
      {"features", "inputs", "missing", "missing_values", "encoding", "crosses", "image_size", "color"});
  return std::ranges::any_of(
      names, [&](std::string_view name) { return is_at_or_below(key, "data.train." + std::string(name)); });
}

/// Why the values of a key would make trials' figures incomparable, or not be a trial's; empty if they would not.
std::string why_incomparable(const Configuration& values, const Parameter& parameter) {
  const std::string& key = parameter.key;
  const auto* const part = values.data.part_of_train();
  const bool is_part = part != nullptr;
  const bool leaves_out = values.data.on_bad_example == data::OnBadExample::kSkip;
  if (key == "data" || is_at_or_below(key, "data.validation")) {
    return "trials are compared on the same validation data; leave it out";
  }
  if (is_part && is_at_or_below(key, "data.train") && (leaves_out || !is_of_inputs(key))) {
    return "the validation data are taken from the training data, and trials are compared on the same; leave it out, "
           "or name a data set of its own in data.validation";
  }
  if (key == "data.on_bad_example") {
    return "the validation data would have other examples, and trials are compared on the same; leave it out";
  }
  if (key == "seed" && is_part && part->is_drawn(data::is_sorted_by_class(values.data.train.value))) {
    return "the seed draws the validation data from the training data, and trials are compared on the same; leave it "
           "out, or name a data set of its own in data.validation";
  }
  if (is_at_or_below(key, "loss") && values.search->objective().metric.value == "loss") {
    return "trials with different losses are not compared by their loss; give search.metric";
  }
  const auto sets_limit = [](const config::Value& value) { return has_key(value, "time_limit"); };
  if (key == "training.time_limit" || (key == "training" && std::ranges::any_of(parameter.values, sets_limit))) {
    return "the time limit is the whole study's, not a trial's, whose results would depend on the machine; leave it "
           "out, and search training.epochs";
  }
  return "";
}

}  // namespace

bool is_at_or_below(const std::string& key, const std::string& above) {
  return key == above || key.starts_with(above + ".") || key.starts_with(above + "[");
}

bool has_key(const config::Value& value, const std::string& path) {
  const auto flat = config::flatten(value);
  return std::ranges::any_of(flat, [&](const auto& entry) { return is_at_or_below(entry.first, path); });
}

void check_comparable(const Configuration& values, const SearchSpace& space, config::Errors& errors) {
  const bool is_by_loss = values.search->objective().metric.value == "loss";
  for (const Parameter& parameter : space.parameters()) {
    const std::string path = "search.parameters." + parameter.key;
    if (std::string why = why_incomparable(values, parameter); !why.empty()) {
      errors.add(parameter.place, path, std::move(why));
    } else if (is_by_loss && parameter.key.find("regularizer") != std::string::npos) {
      errors.warn(parameter.place, path,
                  "the loss that trials are compared by includes the regularization, so that less of it seems better; "
                  "give search.metric");
    }
  }
}

}  // namespace mirrortrain::tune
