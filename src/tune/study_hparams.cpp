#include "tune/study_hparams.h"

#include <algorithm>

#include "config/scalar.h"
#include "report/tensorboard_hparams.h"

namespace mirrortrain::tune {
namespace {

using report::HParamValue;

/// The values of a parameter have one type in TensorBoard: numbers, truth values, or, if they are mixed, texts.
HParamValue value_of(const Parameter& parameter, double number) {
  const config::Value value = parameter.value_of(number);
  const auto all = [&](auto&& is) {
    return parameter.kind != Parameter::Kind::kChoice || std::ranges::all_of(parameter.values, is);
  };
  if (all([](const config::Value& one) { return config::as_number(one).has_value(); })) {
    return *config::as_number(value);
  }
  if (all([](const config::Value& one) { return config::as_boolean(one).has_value(); })) {
    return *config::as_boolean(value);
  }
  constexpr std::size_t kWhole = 1 << 16;
  return config::flow_text(value, kWhole);
}

}  // namespace

std::string study_hparams(const SearchSpace& space, const WatchedMetric& objective) {
  std::vector<report::HParam> parameters;
  for (const Parameter& parameter : space.parameters()) {
    report::HParam& one = parameters.emplace_back();
    one.name = parameter.key;
    one.like = value_of(parameter, parameter.kind == Parameter::Kind::kChoice ? 0 : parameter.low);
    one.interval = {parameter.low, parameter.high};
    for (std::size_t i = 0; parameter.kind == Parameter::Kind::kChoice && i < parameter.count(); ++i) {
      one.domain.push_back(value_of(parameter, parameter.nth(i)));
    }
  }
  return report::hparams_experiment(parameters, objective.text());
}

std::string trial_hparams(const SearchSpace& space, const WatchedMetric& objective, const TrialRow& row) {
  report::HParamSession session{trial_folder_name(row.number), {}, row.status == TrialStatus::kFailed};
  if (row.value) session.result = {objective.text(), *row.value};
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (row.point[i]) session.values.emplace_back(parameter.key, value_of(parameter, *row.point[i]));
  }
  return report::hparams_session(session);
}

}  // namespace mirrortrain::tune
