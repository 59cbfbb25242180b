#include "model/metrics.h"

template class mirrortrain::config::OneOf<mirrortrain::Metrics>;
template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Metric>();

namespace mirrortrain {

MetricNode metric_node(const Metric& metric, const Loss& loss, const Shape& output) {
  return config::visit([&](const auto& options) { return options.node(loss, output); }, metric);
}

std::vector<ValueId> metric_inputs(const Metric& metric, Graph& graph, ValueId output, ValueId labels) {
  return config::visit(
      [&](const auto& options) -> std::vector<ValueId> {
        if constexpr (requires { options.inputs(graph, output, labels); }) {
          return options.inputs(graph, output, labels);
        } else {
          return {output, labels};
        }
      },
      metric);
}

ValueId metric_mask(const Metric& metric, Graph& graph, ValueId labels) {
  return config::visit(
      [&](const auto& options) -> ValueId {
        if constexpr (requires { options.mask(graph, labels); }) return options.mask(graph, labels);
        return kNoValue;
      },
      metric);
}

std::string_view name_of(const Metric& metric) {
  const auto* const formula = config::get_if<metrics::Formula>(&metric);
  return formula != nullptr
             ? std::string_view(formula->name)
             : config::visit([](const auto& options) -> std::string_view { return options.kName; }, metric);
}

Compares compared_by(const Metric& metric) {
  return config::visit(
      [](const auto& options) {
        if constexpr (requires { options.kCompares; }) return options.kCompares;
        return Compares::kClasses;
      },
      metric);
}

}  // namespace mirrortrain
