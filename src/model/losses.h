#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "config/one_of.h"
#include "model/losses/circle.h"
#include "model/losses/comparisons.h"
#include "model/losses/composites.h"
#include "model/losses/crossentropy.h"
#include "model/losses/ctc.h"
#include "model/losses/formula.h"
#include "model/losses/mean_errors.h"
#include "model/losses/overlap.h"

namespace mirrortrain {

/// The list of losses. To add one: a file in model/losses and a line here.
struct Losses
    : config::Types<losses::MeanSquaredError, losses::MeanAbsoluteError, losses::MeanAbsolutePercentageError,
                    losses::MeanSquaredLogarithmicError, losses::Huber, losses::LogCosh, losses::BinaryCrossentropy,
                    losses::BinaryFocalCrossentropy, losses::CategoricalCrossentropy,
                    losses::CategoricalFocalCrossentropy, losses::SparseCategoricalCrossentropy,
                    losses::CategoricalGeneralizedCrossEntropy, losses::KlDivergence, losses::Poisson, losses::Hinge,
                    losses::SquaredHinge, losses::CategoricalHinge, losses::CosineSimilarity, losses::Dice,
                    losses::Tversky, losses::Circle, losses::Ctc, losses::Formula> {};
struct Loss : config::OneOf<Losses> {
  using OneOf::OneOf;
};

ops::Loss loss_op(const Loss& loss);

/// The labels that it takes for an output of this shape per row. Throws Error if the output has no axis.
ValueSpec labels_spec(const Loss& loss, const Shape& output);

/// What the loss's op reads, by default the output and its labels. `present`: 1 for each example that has a label;
/// kNoValue: all have one. `batch`: the most examples of a global batch. Throws Error where they do not fit.
std::vector<ValueId> loss_inputs(const Loss& loss, Graph& graph, ValueId output, ValueId labels, ValueId present,
                                 std::int64_t batch = 1);

/// The mask of what counts of `value`, the first of loss_inputs; kNoValue: all of it.
ValueId counted_by(const Loss& loss, Graph& graph, ValueId value);

/// A position with this label is left out; none if all count.
std::optional<std::int64_t> ignored_label(const Loss& loss);

/// Whether it can leave out the positions that are padding.
bool takes_mask(const Loss& loss);

/// Null if a loss has none.
const losses::ClassWeight* class_weight_of(const Loss& loss);

/// Whether it is one of the global batch rather than one of each example. `output`: the shape of an example's.
bool is_of_batch(const Loss& loss, const Shape& output);

/// Whether it takes the output for logits.
bool takes_logits(const Loss& loss);

Targets targets_of(const Loss& loss);

}  // namespace mirrortrain

extern template class mirrortrain::config::OneOf<mirrortrain::Losses>;

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Loss> {
  static constexpr std::string_view noun = "a loss";
  static constexpr std::string_view tag = "type";
};

extern template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Loss>();
