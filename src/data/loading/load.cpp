#include "data/loading/load.h"

#include <fmt/format.h>

#include <future>
#include <type_traits>
#include <utility>
#include <variant>

#include "data/loading/lookups.h"
#include "data/loading/open_source.h"
#include "data/loading/read_split.h"
#include "data/loading/same_words.h"
#include "data/loading/training_table.h"
#include "data/records/sample_classes.h"
#include "data/sources/abilities.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

Training read_training(const DataOptions& options, std::uint64_t seed, const Terms& terms) {
  return std::visit(
      [&](const auto& source) -> Training {
        using Format = std::decay_t<decltype(source)>;
        BadExamples bad = terms.gather();
        const auto parts_of = [&](Examples examples, std::vector<std::string> classes) {
          constexpr bool kIsSorted = kIsSortedByClass<Format>;
          constexpr bool kMayHaveClasses = kIsSorted || std::is_same_v<Format, WebDataset>;
          if (kMayHaveClasses && !bad.skips()) {
            require_outputs(classes, 0, examples.outputs.front().array.origin, terms.wanted);
          }
          const Dataset whole = usable(std::move(examples), terms.wanted, std::move(bad));
          const std::string& origin = kIsSorted ? whole.labels(0).origin : whole.features(0).origin;
          const SplitRows rows =
              split_rows({whole.rows(), origin, kIsSorted, classes_of(whole.outputs(), terms)}, options, seed);
          Adapted adapted;
          if (!classes.empty()) adapted.classes[""] = std::move(classes);
          return make_parts(whole, rows, std::move(adapted));
        };
        if constexpr (is_table<Format>) {
          return read_training_table(source, options, seed, terms);
        } else if constexpr (std::is_same_v<Format, ImageFolder>) {
          FoundPictures found = find_pictures(source, picture_labels(nullptr, terms), bad.if_skips());
          return parts_of(std::move(found.examples), std::move(found.classes));
        } else if constexpr (std::is_same_v<Format, Text>) {
          TokenWindows windows = windows_of(source, terms);
          const Array& tokens = windows.examples.inputs.front().array;
          check_lookups(tokens.tokens, terms.wanted.spec, tokens.origin);
          return parts_of(std::move(windows.examples), std::move(windows.tokens));
        } else if constexpr (requires { open(source); }) {
          return parts_of(opened(source, terms), {});
        } else if constexpr (std::is_same_v<Format, TfRecord>) {
          return parts_of(records_of(source, bad, terms), {});
        } else if constexpr (std::is_same_v<Format, WebDataset>) {
          ClassedSamples samples =
              open_classed_samples(source, {nullptr, terms.wants_numbers(0)}, bad.if_skips(), terms.holding.unpacked);
          return parts_of(std::move(samples.examples), std::move(samples.classes));
        } else {
          return parts_of(read(source), {});
        }
      },
      options.train.value);
}

}  // namespace

bool needs_adapted(const DataOptions& options, Split split) {
  const auto needs = [](const auto& source) {
    return source && (table_in(*source) != nullptr || std::holds_alternative<ImageFolder>(*source) ||
                      std::holds_alternative<WebDataset>(*source));
  };
  return split == Split::kTest ? needs(options.test.value) : needs(options.validation.value);
}

const char* name_of(Split split) {
  switch (split) {
    case Split::kTrain: return "train";
    case Split::kValidation: return "validation";
    case Split::kTest: return "test";
  }
  return "";
}

SplitKey key_of(const DataOptions& options, Split split) {
  switch (split) {
    case Split::kTrain: return {options.train.place, options.train.path};
    case Split::kValidation: return {options.validation.place, options.validation.path};
    case Split::kTest: return {options.test.place, options.test.path};
  }
  return {};
}

std::string missing_text(const DataOptions& options, Split split) {
  const bool has_validation = options.validation.value.has_value(), has_test = options.test.value.has_value();
  return fmt::format("--split {0}: the configuration has no data.{0}; choose --split train{1}{2}", name_of(split),
                     has_validation ? " or --split validation" : "", has_test ? " or --split test" : "");
}

Splits load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec) {
  const Terms terms(options, spec);
  const ValidationFraction* const fraction = options.part_of_train();
  std::future<std::optional<Dataset>> test, validation;
  std::promise<Adapted> promise;  // destroyed first, so that no future waits for it if reading train fails
  const AdaptedLater later = [known = promise.get_future().share()]() -> const Adapted& { return known.get(); };
  test = std::async(std::launch::async, [&, later] {
    return at_its_place(options.test, [&] { return read_split(options.test.value, later, terms); });
  });
  validation = std::async(std::launch::async, [&, later]() -> std::optional<Dataset> {
    if (fraction != nullptr) return std::nullopt;
    return at_its_place(options.validation, [&] { return read_split(options.validation.value, later, terms); });
  });
  Training training = at_its_place(options.train, [&] { return read_training(options, seed, terms); });
  promise.set_value(training.adapted);
  Splits splits{std::move(training.train), validation.get(), test.get(), std::move(training.adapted)};
  if (training.validation) splits.validation = std::move(training.validation);
  return splits;
}

bool is_drawn_from_train(const DataOptions& options, Split split) {
  return split == Split::kValidation && options.part_of_train() != nullptr;
}

std::optional<LoadedSplit> load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec, Split wanted,
                                const Adapted* known) {
  const Terms terms(options, spec);
  const bool is_of_train = wanted == Split::kTrain || is_drawn_from_train(options, wanted);
  std::optional<Training> training;
  if (is_of_train || (known == nullptr && needs_adapted(options, wanted)))
    training = at_its_place(options.train, [&] {
      Training read = read_training(options, seed, terms);
      if (known != nullptr) require_same_words(read.adapted, *known);
      return read;
    });
  Adapted adapted = known != nullptr ? *known : training ? training->adapted : Adapted{};
  if (wanted == Split::kTrain) return LoadedSplit{std::move(training->train), std::move(adapted)};
  if (is_of_train) return LoadedSplit{*std::move(training->validation), std::move(adapted)};
  const AdaptedLater later = [&]() -> const Adapted& { return adapted; };
  auto dataset = at_its_place(key_of(options, wanted), [&] {
    return wanted == Split::kTest ? read_split(options.test.value, later, terms)
                                  : read_split(options.validation.value, later, terms);
  });
  if (!dataset) return std::nullopt;
  return LoadedSplit{*std::move(dataset), std::move(adapted)};
}

}  // namespace mirrortrain::data
