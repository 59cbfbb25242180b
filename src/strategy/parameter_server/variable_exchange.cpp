#include "strategy/parameter_server/variable_exchange.h"

#include <algorithm>

namespace mirrortrain {

VariableExchange::VariableExchange(const Placement& placement) {
  std::size_t variables = 0;
  for (int server = 0; server < placement.servers(); ++server) {
    for (const VariablePart& part : placement.parts(server)) variables = std::max(variables, part.variable + 1);
  }
  for (const Content content : {Content::kChanging, Content::kValues, Content::kState, Content::kDense}) {
    auto& of_variables = runs_.emplace_back(variables);
    std::int64_t first = 0;
    for (int server = 0; server < placement.servers(); ++server) {
      for (const auto& [part, slot, offset, elements, is_state] : placement.pieces(server, content)) {
        of_variables[part->variable].push_back(
            {slot, is_state ? 0 : part->first, first + offset, elements, part->kind == VariablePart::Kind::kTrained});
      }
      first += placement.elements(server, content);
    }
  }
}

void VariableExchange::read(Content content, std::span<const float> message, const LastingVariable& to) const {
  for (const Run& run : runs_of(content, to.index)) {
    std::copy_n(message.data() + run.offset, run.count, run.elements(to));
  }
}

void VariableExchange::write(Content content, const LastingVariable& from, std::span<float> message) const {
  for (const Run& run : runs_of(content, from.index)) {
    std::copy_n(run.elements(from), run.count, message.data() + run.offset);
  }
}

void VariableExchange::push(const LastingVariable& from, std::span<float> message) const {
  for (const Run& run : runs_of(Content::kDense, from.index)) {
    const float* const elements =
        run.is_trained ? from.accumulated->copy(0).as<float>() + run.first : run.elements(from);
    std::copy_n(elements, run.count, message.data() + run.offset);
  }
}

double VariableExchange::squares_of_push(std::span<const float> message) const {
  double total = 0;
  for (const std::vector<Run>& runs : runs_[static_cast<std::size_t>(Content::kDense)]) {
    for (const Run& run : runs) {
      if (!run.is_trained) continue;
      const float* const elements = message.data() + run.offset;
      for (std::int64_t i = 0; i < run.count; ++i) total += static_cast<double>(elements[i]) * elements[i];
    }
  }
  return total;
}

}  // namespace mirrortrain
