#include "data/load.h"

#include <fmt/format.h>

#include <cmath>
#include <future>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

template <class AnySource>
Dataset read_source(const AnySource& source) {
  return std::visit(
      [](const auto& held) -> Dataset {
        if constexpr (requires { read(held); }) {
          return Dataset(read(held));
        } else {
          throw Error("a part of train is no source of its own");
        }
      },
      source);
}

const ValidationFraction* fraction_of(const DataOptions& options) {
  return options.validation.value ? std::get_if<ValidationFraction>(&*options.validation.value) : nullptr;
}

struct Parts {
  Dataset train, validation;
};

Parts split(const Dataset& whole, double fraction) {
  const auto kept = static_cast<std::int64_t>(std::floor(static_cast<double>(whole.rows()) * (1 - fraction)));
  if (kept == 0 || kept == whole.rows()) {
    throw Error(
        fmt::format("data.validation: a fraction of {} of the {} examples in {} leaves {} without any; change the "
                    "fraction or take more examples",
                    fraction, whole.rows(), whole.features().origin, kept == 0 ? "train" : "validation"));
  }
  return {whole.view(0, kept), whole.view(kept, whole.rows() - kept)};
}

template <class Optional>
std::optional<Dataset> read_optional(const Optional& source) {
  return source ? std::optional(read_source(*source)) : std::nullopt;
}

}  // namespace

Splits load(const DataOptions& options) {
  const ValidationFraction* const fraction = fraction_of(options);
  auto test = std::async(std::launch::async, [&] { return read_optional(options.test.value); });
  auto validation = std::async(std::launch::async, [&]() -> std::optional<Dataset> {
    return fraction == nullptr ? read_optional(options.validation.value) : std::nullopt;
  });
  Dataset train = read_source(options.train.value);
  Splits splits{train, validation.get(), test.get()};
  if (fraction != nullptr) {
    Parts parts = split(train, fraction->fraction);
    splits.train = std::move(parts.train);
    splits.validation = std::move(parts.validation);
  }
  return splits;
}

std::optional<Dataset> load(const DataOptions& options, Split wanted) {
  const ValidationFraction* const fraction = fraction_of(options);
  if (wanted == Split::kTest) return read_optional(options.test.value);
  if (wanted == Split::kValidation && fraction == nullptr) return read_optional(options.validation.value);
  Dataset train = read_source(options.train.value);
  if (fraction == nullptr) return train;
  Parts parts = split(train, fraction->fraction);
  return wanted == Split::kTrain ? std::move(parts.train) : std::move(parts.validation);
}

}  // namespace mirrortrain::data
