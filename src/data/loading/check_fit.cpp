#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "config/errors.h"
#include "data/example_spec.h"
#include "data/key_error.h"
#include "data/loading/model_fit.h"
#include "data/loading/name_check.h"
#include "data/loading/written_data_check.h"
#include "data/pictures/step_shapes.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// Adds errors for transforms that do not fit the model or each other, as far as this does not depend on the data.
class StepCheck {
 public:
  StepCheck(const KnownSteps& known, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors)
      : known_(known), spec_(spec), place_of_(place_of), errors_(errors) {}

  /// Returns the inputs, by number, that get pictures of a wrong size.
  std::set<std::size_t> run() {
    std::set<std::size_t> has_wrong_size;
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      check_statistics(i);
      check_before_bins(i);
      if (spec_.inputs[i].numbers_below > 0) {
        check_lookups(i);
      } else if (!fits_size(i)) {
        has_wrong_size.insert(i);
      }
    }
    check_one_hot();
    check_mixing();
    return has_wrong_size;
  }

 private:
  void check_one_hot() {
    const Wanted wanted = wanted_by(&spec_, known_.steps);
    for (std::size_t i = 0; i < spec_.labels.size(); ++i) {
      const LabelSpec& label = spec_.labels[i];
      const OneHot* const one_hot = find_one_hot(known_.steps, label.name);
      // Labels are assumed to be one class number each; a file's contents are checked when it is read.
      if (one_hot == nullptr) continue;
      if (label.classes > 0 || label.shape.rank() == 0 || label.shape.back() != one_hot->depth.value) {
        const std::string mismatch = labels_mismatch(Shape{}, i, wanted);
        if (!mismatch.empty()) errors_.add(one_hot->depth.place, one_hot->depth.path, mismatch);
      }
    }
  }

  void check_mixing() {
    for (std::size_t i = 0; i < known_.steps.size(); ++i) {
      const std::string mismatch = mixing_mismatch(known_.steps, i, spec_);
      if (mismatch.empty()) continue;
      const StepPlace at = located(known_.steps[i]);
      errors_.add(at.place, at.path, fmt::format("{} {}", step_name(known_.steps[i]), mismatch));
    }
  }

  void add_at_step(std::size_t number, const std::string& message) {
    const std::string path =
        fmt::format("data.preprocessing[{}].{}", known_.numbers[number], step_name(known_.steps[number]));
    errors_.add(place_of_(path), path, message);
  }

  /// The size of pictures after the last transform does not depend on their original size.
  bool fits_size(std::size_t number) {
    const std::vector<PreprocessingStep>& steps = known_.of_input[number];
    const InputSpec& spec = spec_.inputs[number];
    const auto sized = std::find_if(steps.rbegin(), steps.rend(), [](const auto& step) { return !!size_after(step); });
    if (sized == steps.rend()) return true;
    const Extents size = *size_after(*sized);
    const Shape& input = spec.shape;
    if (input.rank() >= 2 && input.rank() <= 3 && input[0] == size.height && input[1] == size.width) return true;
    if (same_but_ones(Shape{size.height, size.width}, input)) return true;
    const StepPlace at = located(*sized);
    errors_.add(at.place, at.path,
                fmt::format("gives pictures the size {} x {} (height x width), but {} is {}; make them the same",
                            size.height, size.width, spec.path, input.text()));
    return false;
  }

  /// Bins are found once, before what is computed for each epoch or picture.
  void check_before_bins(std::size_t number) {
    std::optional<std::size_t> other;  // the first transform that is not of individual numbers
    for (std::size_t i = 0; i < known_.steps.size(); ++i) {
      if (steps_of_input({known_.steps[i]}, spec_.inputs[number].name).empty()) continue;
      if (is_of_pictures(known_.steps[i]) && !other) other = i;
      if (as_binning(known_.steps[i]) == nullptr || !other) continue;
      add_at_step(*other,
                  fmt::format("{0} is for pictures, and {1} behind it puts numbers into bins; leave one of them out",
                              step_name(known_.steps[*other]), step_name(known_.steps[i])));
      return;
    }
  }

  /// Checks the numbers that an embedding looks up.
  void check_lookups(std::size_t number) {
    const InputSpec& input = spec_.inputs[number];
    std::optional<std::size_t> bins;  // the last transform that makes numbers of bins
    for (std::size_t i = 0; i < known_.steps.size(); ++i) {
      const Binning* const binning = as_binning(known_.steps[i]);
      const bool makes_numbers = binning != nullptr && binning->output_mode == BinOutput::kInt;
      if (makes_numbers && !steps_of_input({known_.steps[i]}, input.name).empty()) bins = i;
    }
    for (std::size_t i = bins ? *bins + 1 : 0; i < known_.steps.size(); ++i) {
      if (steps_of_input({known_.steps[i]}, input.name).empty()) continue;
      add_at_step(i, fmt::format("{} changes the numbers that the model's embedding looks up; leave it out",
                                 step_name(known_.steps[i])));
    }
    if (bins) check_bins(*bins, input);
  }

  void check_bins(std::size_t step, const InputSpec& input) {
    const std::int64_t bins = bins_of(known_.steps[step]);
    const auto least = std::ranges::min_element(input.lookups, {}, &LookupSpec::rows);
    if (bins > least->rows) {
      add_at_step(step,
                  fmt::format("{} has {} bins: numbers from 0 to {}, but the embedding '{}' has input_dim: {}; write "
                              "input_dim: {}",
                              step_name(known_.steps[step]), bins, bins - 1, least->layer, least->rows, bins));
    }
    const auto masking = std::ranges::find(input.lookups, true, &LookupSpec::masks_zero);
    const auto* const hashing = config::get_if<Hashing>(&known_.steps[step]);
    if (masking == input.lookups.end() || (hashing != nullptr && hashing->masks())) return;
    add_at_step(
        step,
        fmt::format("mask_zero of '{}' takes 0 for padding, but here 0 is the first bin; leave mask_zero out{}",
                    masking->layer, hashing != nullptr ? ", or give the number that is padding as mask_value" : ""));
  }

  /// Of examples that come with the shape of the input; that of pictures which change their size shows when they are
  /// read.
  void check_statistics(std::size_t input) {
    if (std::ranges::any_of(known_.of_input[input], is_of_pictures)) return;
    const Shape& shape = spec_.inputs[input].shape;
    for (const PreprocessingStep& step : known_.of_input[input]) {
      const auto* const normalization = config::get_if<Normalization>(&step);
      if (normalization == nullptr) continue;
      try {
        spread(*normalization, shared_statistics(*normalization, shape, shape));
      } catch (const KeyError& error) {
        errors_.add(error.place(), error.path(), error.message());
      }
    }
  }

  const KnownSteps& known_;
  const ExampleSpec& spec_;
  const PlaceOf& place_of_;
  config::Errors& errors_;
};

}  // namespace

void check_fit(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors) {
  NameCheck names(options, spec, place_of, errors);
  const KnownSteps known = names.known_steps(options.preprocessing);
  WrittenDataCheck data(known, StepCheck(known, spec, place_of, errors).run(), spec, errors);
  const auto check = [&](const auto& source, const config::Place& place, const std::string& path) {
    std::visit(
        [&](const auto& held) {
          using Format = std::decay_t<decltype(held)>;
          if constexpr (!std::is_same_v<Format, ValidationFraction>) {
            const bool fits = names.fits(held, place, path) && known.are_all;
            if constexpr (requires { data.check(held); }) {
              if (fits) data.check(held);
            }
          }
        },
        source);
  };
  check(options.train.value, options.train.place, options.train.path);
  if (options.validation.value) check(*options.validation.value, options.validation.place, options.validation.path);
  if (options.test.value) check(*options.test.value, options.test.place, options.test.path);
}

}  // namespace mirrortrain::data
