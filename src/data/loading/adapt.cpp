#include "data/loading/adapt.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "data/in_threads.h"
#include "data/key_error.h"
#include "data/pictures/picture_steps.h"
#include "data/preprocessing/quantiles.h"
#include "data/preprocessing/select_ranks.h"
#include "data/reading/bins.h"
#include "data/reading/example_maker.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

/// The normalization that a transform is, or null: one to adapt.
template <class Step>
auto* to_normalize(Step& step) {
  auto* const normalization = config::get_if<Normalization>(&step);
  return normalization != nullptr && normalization->adapt ? normalization : nullptr;
}

/// The same for a discretization.
template <class Step>
auto* to_discretize(Step& step) {
  auto* const discretization = config::get_if<Discretization>(&step);
  return discretization != nullptr && !discretization->bin_boundaries.value ? discretization : nullptr;
}

bool adapts(const PreprocessingStep& step) { return to_normalize(step) != nullptr || to_discretize(step) != nullptr; }

/// The number of the input that a transform is for.
std::size_t input_of(const OfInput& step, const std::vector<InputSpec>& inputs) {
  if (!step.input.value) return 0;
  return static_cast<std::size_t>(std::ranges::find(inputs, *step.input.value, &InputSpec::name) - inputs.begin());
}

/// Moments of some rows: the count of numbers, their mean, and the sum of their squared distances from it, per channel.
struct Moments {
  double count = 0;
  std::vector<double> mean, squares;
};

/// Chan, Golub and LeVeque: "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
void add(Moments& all, const Moments& more) {
  if (all.count == 0) {
    all = more;
    return;
  }
  const double count = all.count + more.count;
  for (std::size_t c = 0; c < all.mean.size(); ++c) {
    const double apart = more.mean[c] - all.mean[c];
    all.mean[c] += apart * more.count / count;
    all.squares[c] += more.squares[c] + apart * apart * all.count * more.count / count;
  }
  all.count = count;
}

/// Rows whose moments are computed together.
constexpr std::int64_t kRowsOfPart = 256;

/// The training data after the transforms before one that adapts, as doubles.
class TrainingFeatures {
 public:
  TrainingFeatures(Binned train, std::size_t input, const Shape& wanted)
      : train_(std::move(train.dataset)), input_(input) {
    const auto acting = acting_steps(train.rest, train_.features(input).row_shape(), wanted, false);
    if (train_.source(input) == nullptr && std::ranges::none_of(acting, is_of_pictures)) {
      affine_ = fold(acting);
      shape_ = train_.features(input).row_shape();
      return;
    }
    maker_ = std::make_unique<ExampleMaker>(train_, input, acting, 0);
    shape_ = maker_->features().row_shape();
  }

  /// Of an example.
  const Shape& shape() const { return shape_; }
  /// Whether all are in memory.
  bool are_held() const { return train_.source(input_) == nullptr && !train_.features(input_).is_by_position(); }

  /// Rows that were read from files, with those behind them, which are asked for next.
  struct Block {
    std::int64_t first = 0, end = 0;
    std::vector<std::byte> rows{};
  };

  /// `block`: of the calling thread's earlier rows.
  void read(std::int64_t row, std::vector<double>& to, Block& block) const {
    to.resize(static_cast<std::size_t>(shape_.elements()));
    if (maker_) {
      thread_local std::vector<float> made;
      made.resize(to.size());
      maker_->make({row, 0}, made);
      std::ranges::copy(made, to.begin());
      return;
    }
    const std::byte* const stored = stored_row(row, block);
    with_element_type(train_.features(input_).dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      const std::span<const T> all(reinterpret_cast<const T*>(stored), to.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t c = i % affine_.period();
        to[i] = (static_cast<double>(all[i]) - affine_.shift[c]) * affine_.scale[c] + affine_.offset[c];
      }
    });
  }

 private:
  const std::byte* stored_row(std::int64_t row, Block& block) const {
    const Array& array = train_.features(input_);
    if (!array.is_by_position()) return array.rows_at(train_.first_row() + row, 1, block.rows);
    if (row < block.first || row >= block.end) {
      block.first = block.end = 0;
      const std::int64_t count = std::min({kRowsOfPart - row % kRowsOfPart, rows_of_block(array), train_.rows() - row});
      static_cast<void>(array.rows_at(train_.first_row() + row, count, block.rows));
      block.first = row;
      block.end = row + count;
    }
    return block.rows.data() + static_cast<std::size_t>(row - block.first) * array.row_bytes();
  }

  Dataset train_;
  std::size_t input_;
  Affine affine_;
  std::unique_ptr<ExampleMaker> maker_;  ///< null if the data are numbers and no transform is for pictures
  Shape shape_;
};

/// The moments of numbers that share statistics, from those of each number of a period.
Moments shared_moments(const Moments& of_period, const SharedStatistics& shared) {
  std::vector<Moments> each(shared.count);
  for (std::size_t i = 0; i < shared.of.size(); ++i) {
    add(each[shared.of[i]], {of_period.count, {of_period.mean[i]}, {of_period.squares[i]}});
  }
  Moments all{each[0].count, {}, {}};
  for (const Moments& one : each) {
    all.mean.push_back(one.mean[0]);
    all.squares.push_back(one.squares[0]);
  }
  return all;
}

/// Uses distances from the first number of each channel, which are small even if the mean is large.
Moments moments_of_rows(const TrainingFeatures& examples, std::int64_t first, std::int64_t last, std::size_t channels) {
  std::vector<double> row, origin, sums(channels), squares(channels);
  TrainingFeatures::Block block;
  for (std::int64_t i = first; i < last; ++i) {
    examples.read(i, row, block);
    if (origin.empty()) origin.assign(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(channels));
    for (std::size_t begin = 0; begin < row.size(); begin += channels) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double distance = row[begin + c] - origin[c];
        sums[c] += distance;
        squares[c] += distance * distance;
      }
    }
  }
  Moments moments{static_cast<double>(last - first) * static_cast<double>(row.size() / channels), std::move(origin),
                  std::move(squares)};
  for (std::size_t c = 0; c < channels; ++c) {
    moments.squares[c] = std::max(0.0, moments.squares[c] - sums[c] * sums[c] / moments.count);
    moments.mean[c] += sums[c] / moments.count;
  }
  return moments;
}

/// Parts of the rows are added in their order, whichever thread computes them, as soon as those before them are.
Moments moments_of(const TrainingFeatures& examples, std::int64_t rows, const SharedStatistics& shared, int threads) {
  const std::int64_t parts = (rows + kRowsOfPart - 1) / kRowsOfPart;
  std::mutex mutex;
  Moments all;
  std::map<std::size_t, Moments> waiting;  // by part
  std::size_t added = 0;
  in_threads(static_cast<std::size_t>(parts), threads, [&](std::size_t part) {
    const std::int64_t first = static_cast<std::int64_t>(part) * kRowsOfPart,
                       last = std::min(first + kRowsOfPart, rows);
    Moments made = shared_moments(moments_of_rows(examples, first, last, shared.of.size()), shared);
    const std::lock_guard lock(mutex);
    waiting.emplace(part, std::move(made));
    for (auto found = waiting.begin(); found != waiting.end() && found->first == added; ++added) {
      add(all, found->second);
      found = waiting.erase(found);
    }
  });
  return all;
}

}  // namespace

std::size_t steps_to_adapt(const std::vector<PreprocessingStep>& steps) {
  return static_cast<std::size_t>(std::ranges::count_if(steps, adapts));
}

std::vector<PreprocessingStep> with_adapted(std::vector<PreprocessingStep> steps, const AdaptedSteps& adapted) {
  if (steps_to_adapt(steps) == 0) return steps;
  const auto require = [](auto expected, std::size_t found, std::string_view what) {
    if (static_cast<std::size_t>(expected) == found) return;
    throw Error(fmt::format("preprocessing.json: expected {}, found {}; restore the file, or train again",
                            fmt::format(fmt::runtime(what), expected), found));
  };
  const auto normalizes = [](const PreprocessingStep& step) { return to_normalize(step) != nullptr; };
  const auto discretizes = [](const PreprocessingStep& step) { return to_discretize(step) != nullptr; };
  require(std::ranges::count_if(steps, normalizes), adapted.normalizations.size(),
          "the mean and the variance of {} normalization transforms");
  require(std::ranges::count_if(steps, discretizes), adapted.bin_boundaries.size(),
          "the boundaries of {} discretization transforms");
  auto statistics = adapted.normalizations.begin();
  auto boundaries = adapted.bin_boundaries.begin();
  for (PreprocessingStep& step : steps) {
    if (Normalization* const normalization = to_normalize(step)) {
      normalization->adapt = false;
      normalization->mean.value = statistics->mean;
      normalization->variance.value = statistics->variance;
      ++statistics;
    } else if (Discretization* const discretization = to_discretize(step)) {
      discretization->bin_boundaries.value = *boundaries++;
    }
  }
  return steps;
}

void spare_absent_words(const AdaptedTable& table, const std::vector<PreprocessingStep>& steps,
                        const std::vector<InputSpec>& inputs, std::vector<AdaptedNormalization>& normalizations) {
  auto next = normalizations.begin();
  for (const PreprocessingStep& step : steps) {
    const Normalization* const normalization = to_normalize(step);
    if (normalization == nullptr || next == normalizations.end()) continue;
    std::vector<double>& variance = next++->variance;
    const TableInput* const input = table.find_input(inputs[input_of(*normalization, inputs)].name);
    std::vector<bool> is_word;  // for each feature
    if (input != nullptr) {
      for (const AdaptedColumn* const column : table.columns_of(*input)) {
        is_word.insert(is_word.end(), static_cast<std::size_t>(column->width()), column->is_category());
      }
    }
    if (is_word.size() != variance.size()) continue;
    for (std::size_t feature = 0; feature < variance.size(); ++feature) {
      if (is_word[feature] && variance[feature] == 0) variance[feature] = 1;
    }
  }
}

std::vector<PreprocessingStep> without_adapting(std::vector<PreprocessingStep> steps) {
  std::erase_if(steps, [](const PreprocessingStep& step) { return to_normalize(step) != nullptr; });
  for (PreprocessingStep& step : steps) {
    if (Discretization* const discretization = to_discretize(step)) {
      std::vector<double>& some = discretization->bin_boundaries.value.emplace(*discretization->num_bins - 1);
      std::iota(some.begin(), some.end(), 0.0);
    }
  }
  return steps;
}

namespace {

AdaptedNormalization adapted_normalization(const Normalization& step, const TrainingFeatures& examples,
                                           std::int64_t rows, const InputSpec& input, int threads) {
  const SharedStatistics shared = shared_statistics(step, examples.shape(), input.shape);
  const std::int64_t elements = examples.shape().elements(), period = std::ssize(shared.of);
  if (elements == 0 || elements % period != 0) {
    const StepPlace at = located(step);
    throw KeyError(at.place, at.path,
                   fmt::format("examples of {} numbers do not have {} channels, as the last axis of {} has; make the "
                               "shape that of the data",
                               elements, period, input.path));
  }
  Moments moments = moments_of(examples, rows, shared, threads);
  for (double& squares : moments.squares) squares /= moments.count;
  return {std::move(moments.mean), std::move(moments.squares)};
}

std::vector<double> adapted_boundaries(const Discretization& step, const TrainingFeatures& examples,
                                       std::int64_t rows) {
  const PassNumbers pass = [&](const std::function<void(std::span<const float>)>& take) {
    std::vector<double> row;
    std::vector<float> numbers;
    TrainingFeatures::Block block;
    for (std::int64_t i = 0; i < rows; ++i) {
      examples.read(i, row, block);
      numbers.assign(row.size(), 0);
      std::ranges::transform(row, numbers.begin(), [](double number) { return static_cast<float>(number); });
      take(numbers);
    }
  };
  if (examples.are_held()) {
    std::vector<float> all;
    pass([&](std::span<const float> numbers) { all.insert(all.end(), numbers.begin(), numbers.end()); });
    return quantile_boundaries(std::move(all), *step.num_bins, step.epsilon);
  }
  const auto of_ranks = [&](const std::vector<std::size_t>& ranks) { return select_ranks(pass, ranks); };
  const auto count = static_cast<std::size_t>(rows * examples.shape().elements());
  return quantile_boundaries(count, of_ranks, *step.num_bins, step.epsilon);
}

}  // namespace

AdaptedSteps adapt(const std::vector<PreprocessingStep>& steps, const Dataset& train,
                   const std::vector<InputSpec>& inputs, int threads) {
  AdaptedSteps adapted;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!adapts(steps[i])) continue;
    const Normalization* const normalization = to_normalize(steps[i]);
    const Discretization* const discretization = to_discretize(steps[i]);
    const std::size_t input =
        normalization != nullptr ? input_of(*normalization, inputs) : input_of(*discretization, inputs);
    const auto before = with_adapted({steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i)}, adapted);
    const TrainingFeatures examples(
        with_bins(train, input, steps_of_input(before, inputs[input].name), inputs[input].shape), input,
        inputs[input].shape);
    if (normalization != nullptr) {
      adapted.normalizations.push_back(
          adapted_normalization(*normalization, examples, train.rows(), inputs[input], threads));
    } else {
      adapted.bin_boundaries.push_back(adapted_boundaries(*discretization, examples, train.rows()));
    }
  }
  return adapted;
}

}  // namespace mirrortrain::data
