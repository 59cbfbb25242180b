#include "tune/tpe.h"

#include <algorithm>
#include <string>

namespace mirrortrain::tune {
namespace {

constexpr std::size_t kStartupTrials = 10;
constexpr std::size_t kCandidates = 24;

std::size_t number_of_good(std::size_t done) {
  constexpr std::size_t kMost = 25;
  return std::min((done + 9) / 10, kMost);
}

/// The values of the trials that have all of the parameters.
std::vector<std::vector<double>> observed(const std::vector<const Observation*>& trials,
                                          std::span<const std::size_t> parameters) {
  std::vector<std::vector<double>> all;
  for (const Observation* const trial : trials) {
    std::vector<double> values;
    for (const std::size_t parameter : parameters) {
      if (trial->point[parameter]) values.push_back(*trial->point[parameter]);
    }
    if (values.size() == parameters.size()) all.push_back(std::move(values));
  }
  return all;
}

}  // namespace

SplitTrials split_trials(std::span<const Observation> trials) {
  std::vector<const Observation*> done;
  for (const Observation& trial : trials) {
    if (trial.state == Observation::State::kDone) done.push_back(&trial);
  }
  std::ranges::stable_sort(done, {}, &Observation::loss);
  done.resize(number_of_good(done.size()));
  SplitTrials split;
  for (const Observation& trial : trials) {
    if (trial.state == Observation::State::kFailed) continue;
    const bool is_good = std::ranges::count(done, &trial) > 0;
    (is_good ? split.good : split.others).push_back(&trial);
  }
  return split;
}

std::vector<double> best_candidate(const SearchSpace& space, std::span<const std::size_t> parameters,
                                   const SplitTrials& trials, const Uniforms& uniforms,
                                   const std::function<bool(const std::vector<double>&)>& accepts) {
  std::vector<const Parameter*> declared;
  for (const std::size_t parameter : parameters) declared.push_back(&space.parameters()[parameter]);
  const ParzenEstimator good(declared, observed(trials.good, parameters));
  const ParzenEstimator others(declared, observed(trials.others, parameters));
  std::vector<double> best;
  double best_ratio = 0;
  for (std::size_t candidate = 0; candidate < kCandidates; ++candidate) {
    std::vector<double> values = good.sample(uniforms, candidate);
    if (!accepts(values)) continue;
    const double ratio = good.log_density(values) - others.log_density(values);
    if (!best.empty() && !(ratio > best_ratio)) continue;
    best = std::move(values);
    best_ratio = ratio;
  }
  return best;
}

Point TpeSampler::suggest(int trial, std::span<const Observation> before) const {
  const TrialRandom random(seed_, trial);
  const auto is_done = [](const Observation& one) { return one.state == Observation::State::kDone; };
  if (std::ranges::count_if(before, is_done) < static_cast<std::ptrdiff_t>(kStartupTrials)) {
    return new_random_point(space_, random, before);
  }
  const SplitTrials trials = split_trials(before);
  constexpr std::size_t kMostAttempts = 10;
  for (std::size_t attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (auto point = point_of(random, trials, before, attempt)) return *std::move(point);
  }
  return new_random_point(space_, random, before);  // what is promising was tried
}

std::optional<Point> TpeSampler::point_of(const TrialRandom& random, const SplitTrials& trials,
                                          std::span<const Observation> before, std::size_t attempt) const {
  Point point(space_.parameters().size());
  std::vector<std::size_t> joint;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const Parameter& parameter = space_.parameters()[i];
    if (!parameter.conditions.empty()) continue;
    if (parameter.count() == 1) {
      point[i] = parameter.nth(0);
    } else {
      joint.push_back(i);
    }
  }
  const auto set = [&](std::span<const std::size_t> together, const std::vector<double>& values) {
    for (std::size_t i = 0; i < together.size(); ++i) point[together[i]] = values[i];
  };
  const auto is_active = [&](std::size_t parameter) {
    return !space_.parameters()[parameter].conditions.empty() && space_.is_active(parameter, point);
  };
  // Whether a candidate is new is known once no parameter is left to be chosen.
  const auto may_be_new = [&](std::span<const std::size_t> together, const std::vector<double>& values) {
    set(together, values);
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (!point[i] && is_active(i)) return true;
    }
    return is_new(point, before);
  };
  const auto choose = [&](std::span<const std::size_t> together, const std::string& purpose) {
    const auto uniforms = [&](std::size_t stream, std::size_t candidate) {
      const auto index = static_cast<std::uint32_t>(attempt * kCandidates + candidate);
      return stream == 0 ? random.uniform(purpose, index)
                         : random.uniform(space_.parameters()[together[stream - 1]].key, index);
    };
    const std::vector<double> values =
        best_candidate(space_, together, trials, uniforms,
                       [&](const std::vector<double>& candidate) { return may_be_new(together, candidate); });
    if (values.empty()) return false;
    set(together, values);
    return true;
  };
  if (!joint.empty() && !choose(joint, "kernel")) return std::nullopt;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (!is_active(i)) continue;
    const Parameter& parameter = space_.parameters()[i];
    if (parameter.count() == 1) {
      point[i] = parameter.nth(0);
    } else if (!choose(std::span(&i, 1), "kernel of " + parameter.key)) {
      return std::nullopt;
    }
  }
  return is_new(point, before) ? std::optional(std::move(point)) : std::nullopt;
}

}  // namespace mirrortrain::tune
