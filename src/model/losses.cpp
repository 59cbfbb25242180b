#include "model/losses.h"

#include "model/formula/formula_graph.h"

template class mirrortrain::config::OneOf<mirrortrain::Losses>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Loss>();

namespace mirrortrain {

ops::Loss loss_op(const Loss& loss) {
  return config::visit([](const auto& options) { return options.op(); }, loss);
}

bool takes_mask(const Loss& loss) {
  return config::visit(
      [](const auto& options) {
        if constexpr (requires { options.kTakesMask; }) return options.kTakesMask;
        return true;
      },
      loss);
}

const losses::ClassWeight* class_weight_of(const Loss& loss) {
  return config::visit(
      [](const auto& options) -> const losses::ClassWeight* {
        if constexpr (requires { options.class_weight; }) return &options.class_weight;
        return nullptr;
      },
      loss);
}

bool is_of_batch(const Loss& loss, const Shape& output) {
  return config::visit(
      [&](const auto& options) {
        if constexpr (requires { options.is_of_batch(output); }) return options.is_of_batch(output);
        return false;
      },
      loss);
}

bool takes_logits(const Loss& loss) {
  return config::visit(
      [](const auto& options) {
        if constexpr (requires { options.from_logits; }) return options.from_logits;
        return false;
      },
      loss);
}

Targets targets_of(const Loss& loss) {
  return config::visit([](const auto& options) { return options.kTargets; }, loss);
}

std::vector<ValueId> loss_inputs(const Loss& loss, Graph& graph, ValueId output, ValueId labels, ValueId present,
                                 std::int64_t batch) {
  return config::visit(
      [&](const auto& options) -> std::vector<ValueId> {
        if constexpr (requires { options.terms(); }) {
          const ValueId terms =
              formula::add_formula(graph, options.terms(), {{"y_pred", output}, {"y_true", labels}}, DType::kFloat32);
          return {terms, terms};
        } else if constexpr (requires { options.inputs(graph, output, labels, present, batch); }) {
          return options.inputs(graph, output, labels, present, batch);
        } else if constexpr (requires { options.inputs(graph, output, labels, present); }) {
          return options.inputs(graph, output, labels, present);
        } else if constexpr (requires { options.inputs(graph, output, labels); }) {
          return options.inputs(graph, output, labels);
        } else {
          return {output, labels};
        }
      },
      loss);
}

ValueSpec labels_spec(const Loss& loss, const Shape& output) {
  const auto* const ctc = config::get_if<losses::Ctc>(&loss);
  return targets_spec(targets_of(loss), output, ctc != nullptr ? ctc->label_length : 0);
}

ValueId counted_by(const Loss& loss, Graph& graph, ValueId value) {
  const auto* const circle = config::get_if<losses::Circle>(&loss);
  return circle != nullptr ? circle->counted(graph, value) : kNoValue;
}

std::optional<std::int64_t> ignored_label(const Loss& loss) {
  const auto* const sparse = config::get_if<losses::SparseCategoricalCrossentropy>(&loss);
  return sparse != nullptr ? sparse->ignore_class : std::nullopt;
}

}  // namespace mirrortrain
