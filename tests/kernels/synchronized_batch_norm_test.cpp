#include "graph/ops/synchronized_batch_norm.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/ops/collective.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

double or_else(const Values& values, std::int64_t channel, double otherwise) {
  return values.absent ? otherwise : values[channel];
}

/// The sums of a batch of 40 cells whose channels have the means and variances c / 4 and 1 + c / 8.
Operand batch_sums(std::int64_t channels) {
  Operand sums = fixed({2 * channels + 1}, [=](std::int64_t i, double) {
    if (i == 2 * channels) return 40.0;
    const double c = static_cast<double>(i % channels), mean = c / 4;
    return 40 * (i < channels ? mean : 1 + c / 8 + mean * mean);
  });
  sums.spec.dtype = DType::kFloat64;
  return sums;
}

Operand gradient_sums(std::int64_t channels) {
  Operand sums = fixed({2 * channels}, [](std::int64_t i, double u) { return 10 * u + static_cast<double>(i % 7); });
  sums.spec.dtype = DType::kFloat64;
  return sums;
}

Reference sums_of_batch() {
  return [](const std::vector<Values>& inputs) {
    const Values& x = inputs[0];
    const std::int64_t channels = x.shape.back();
    Values sums = filled({2 * channels + 1});
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      if (inputs.size() > 1 && inputs[1][i / channels] == 0) continue;
      sums[i % channels] += x[i];
      sums[channels + i % channels] += x[i] * x[i];
      sums[2 * channels] += i % channels == 0;
    }
    return std::vector<Values>{sums};
  };
}

/// x, gamma, beta, sums.
Reference by_sums(double epsilon, ops::Rectifier relu) {
  return [=](const std::vector<Values>& inputs) {
    const Values& sums = inputs[3];
    Values y = inputs[0];
    const std::int64_t channels = y.shape.back();
    Values mean = filled({channels}), inverse = filled({channels});
    for (std::int64_t c = 0; c < channels; ++c) {
      mean[c] = sums[c] / sums[2 * channels];
      inverse[c] = 1 / std::sqrt(sums[channels + c] / sums[2 * channels] - mean[c] * mean[c] + epsilon);
    }
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t c = i % channels;
      y[i] = (y[i] - mean[c]) * inverse[c] * or_else(inputs[1], c, 1) + or_else(inputs[2], c, 0);
      if (relu) y[i] = std::clamp(y[i], 0.0, static_cast<double>(relu.most));
    }
    return std::vector<Values>{y, mean, inverse};
  };
}

Reference moving(double momentum) {
  return [=](const std::vector<Values>& inputs) {
    const Values& sums = inputs[0];
    std::vector<Values> moved{inputs[1], inputs[2]};
    const std::int64_t channels = moved[0].elements();
    for (std::int64_t c = 0; c < channels; ++c) {
      const double mean = sums[c] / sums[2 * channels];
      moved[0][c] = moved[0][c] * momentum + mean * (1 - momentum);
      const double variance = sums[channels + c] / sums[2 * channels] - mean * mean;
      moved[1][c] = moved[1][c] * momentum + variance * (1 - momentum);
    }
    return moved;
  };
}

Reference renormalized(const ops::RenormOptions& options) {
  return [=](const std::vector<Values>& inputs) {
    const Values& sums = inputs[0];
    const std::int64_t channels = inputs[1].elements();
    const auto number = [](float value) { return static_cast<double>(value); };
    std::vector<Values> found(7, filled({channels}));
    for (std::int64_t c = 0; c < channels; ++c) {
      const double mean = sums[c] / sums[2 * channels];
      const double variance = sums[channels + c] / sums[2 * channels] - mean * mean;
      const double deviation = std::sqrt(variance + number(options.epsilon));
      const double divisor = std::max(inputs[2][c], std::sqrt(number(options.epsilon)));
      found[0][c] = std::clamp(deviation / divisor, number(options.least_scale), number(options.most_scale));
      found[1][c] =
          std::clamp((mean - inputs[1][c]) / divisor, -number(options.most_shift), number(options.most_shift));
      const double now[] = {mean, deviation, mean, deviation};
      for (std::size_t i = 0; i < 4; ++i) {
        const double kept = number(i < 2 ? options.renorm_momentum : options.momentum);
        found[2 + i][c] = inputs[1 + i][c] * kept + now[i] * (1 - kept);
      }
      found[6][c] = std::max(0.0, found[5][c] * found[5][c] - number(options.epsilon));
    }
    return found;
  };
}

/// Whether relu of what x becomes lets no gradient through.
bool is_cut(ops::Rectifier relu, const Values& gamma, const Values& beta, std::int64_t c, double normalized) {
  const double y = normalized * or_else(gamma, c, 1) + or_else(beta, c, 0);
  return y <= 0 || y >= static_cast<double>(relu.most);
}

/// x, dy, mean, inverse and, with relu, gamma and beta.
Reference sums_of_gradient(ops::Rectifier relu) {
  return [=](const std::vector<Values>& inputs) {
    const Values& x = inputs[0];
    const std::int64_t channels = x.shape.back();
    Values sums = filled({2 * channels}), gamma = filled({channels}), beta = filled({channels});
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t c = i % channels;
      const double normalized = (x[i] - inputs[2][c]) * inputs[3][c];
      const bool cut = relu && is_cut(relu, inputs[4], inputs[5], c, normalized);
      const double gradient = cut ? 0 : inputs[1][i];
      sums[c] += gradient;
      sums[channels + c] += gradient * (x[i] - inputs[2][c]);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      gamma[c] = sums[channels + c] * inputs[3][c];
      beta[c] = sums[c];
    }
    return std::vector<Values>{sums, gamma, beta};
  };
}

/// x, dy, gamma, mean, inverse, both sums and, with relu, beta.
Reference gradient_by_sums(ops::Rectifier relu) {
  return [=](const std::vector<Values>& inputs) {
    Values dx = inputs[0];
    const std::int64_t channels = dx.shape.back();
    const double count = inputs[5][2 * channels];
    for (std::int64_t i = 0; i < dx.elements(); ++i) {
      const std::int64_t c = i % channels;
      const double inverse = inputs[4][c], deviation = dx[i] - inputs[3][c];
      const bool cut = relu && is_cut(relu, inputs[2], inputs[7], c, deviation * inverse);
      const double gradient = cut ? 0 : inputs[1][i];
      const bool counts = inputs.size() < 9 || inputs[8][i / channels] != 0;
      const double along = deviation * inverse * inverse * inputs[6][channels + c] / count;
      const double moved = counts ? inputs[6][c] / count + along : 0;
      dx[i] = or_else(inputs[2], c, 1) * inverse * (gradient - moved);
    }
    return std::vector<Values>{dx};
  };
}

const Shape kImages[] = {{6, 5, 16}, {3, 3, 5}, {4, 2, 50}, {19}, {1, 1, 1}, {8, 9, 33}};

}  // namespace

TEST_CASE("the parts of a synchronized batch normalization match references in double") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : kImages) {
      const std::int64_t channels = image.back();
      const Operand x = batched(dtype, image), per_channel = fixed({channels});
      const Operand positive = fixed({channels}, [](std::int64_t, double u) { return 1.5 + u; });
      const std::string name = fmt::format("{} {}", name_of(dtype), image.text());
      // Sums in double of floats whose own sums over a few cells are in float.
      check_forward({.name = "sums " + name,
                     .op = std::make_shared<ops::BatchNormSums>(),
                     .inputs = {x},
                     .reference = sums_of_batch(),
                     .tolerance = 2e-6});
      const Operand mask = batched(DType::kFloat32, Shape({image.begin(), image.end() - 1}),
                                   [](std::int64_t, double u) { return u > -0.4 ? 1.0 : 0.0; });
      check_forward({.name = "masked sums " + name,
                     .op = std::make_shared<ops::BatchNormSums>(),
                     .inputs = {x, mask},
                     .reference = sums_of_batch(),
                     .tolerance = 2e-6});
      check_forward({.name = "moving " + name,
                     .op = std::make_shared<ops::MovingStatistics>(0.9f),
                     .inputs = {batch_sums(channels), per_channel, positive},
                     .reference = moving(static_cast<double>(0.9f))});
      for (const ops::RenormOptions& options :
           {ops::RenormOptions{}, ops::RenormOptions{0.9f, 0.7f, 1e-2f, 0.8f, 1.1f, 0.2f}}) {
        check_forward({.name = "renorm " + name,
                       .op = std::make_shared<ops::RenormStatistics>(options),
                       .inputs = {batch_sums(channels), per_channel, positive, per_channel, positive},
                       .reference = renormalized(options)});
      }
      for (const ops::Rectifier relu : {ops::Rectifier{}, ops::Rectifier{true}, ops::Rectifier{true, 0.5f}}) {
        for (const bool scaled : {true, false}) {
          const Operand gamma = scaled ? positive : absent(), beta = scaled ? per_channel : absent();
          check_forward({.name = "by sums " + name,
                         .op = std::make_shared<ops::BatchNormBySums>(1e-2f, relu),
                         .inputs = {x, gamma, beta, batch_sums(channels)},
                         .reference = by_sums(static_cast<double>(1e-2f), relu)});
          std::vector<Operand> inputs{
              x, x, gamma, per_channel, positive, batch_sums(channels), gradient_sums(channels)};
          if (relu) inputs.push_back(beta);
          check_forward({.name = "gradient by sums " + name,
                         .op = std::make_shared<ops::BatchNormGradientBySums>(relu),
                         .inputs = inputs,
                         .reference = gradient_by_sums(relu)});
          inputs.resize(7);
          inputs.push_back(relu ? beta : absent());
          inputs.push_back(mask);
          check_forward({.name = "masked gradient by sums " + name,
                         .op = std::make_shared<ops::BatchNormGradientBySums>(relu),
                         .inputs = inputs,
                         .reference = gradient_by_sums(relu)});
          inputs = {x, x, per_channel, positive};
          if (relu) inputs.insert(inputs.end(), {gamma, beta});
          check_forward({.name = "gradient sums " + name,
                         .op = std::make_shared<ops::BatchNormGradientSums>(relu),
                         .inputs = inputs,
                         .reference = sums_of_gradient(relu),
                         .tolerance = dtype == DType::kFloat32 ? 5e-6 : 1e-5});
        }
      }
    }
  }
}

TEST_CASE("the variance from sums holds where the mean is far from zero") {
  const ValueSpec x{DType::kFloat32, {64, 4}, true};
  Values image = filled({20, 64, 4});
  for (std::int64_t i = 0; i < image.elements(); ++i) {
    image[i] = rounded(DType::kFloat32, 1000 + static_cast<double>(i % 4) + (i / 4 % 2 == 0 ? 0.25 : -0.25));
  }
  Values sums = run_op(ops::BatchNormSums(), {{x, image}}, 20)[0];
  const ValueSpec of_sums{DType::kFloat64, {9}}, channels{DType::kFloat32, {4}};
  const std::vector<Values> moved =
      run_op(ops::MovingStatistics(0.0f), {{of_sums, sums}, {channels, filled({4})}, {channels, filled({4})}}, 20);
  for (std::int64_t c = 0; c < 4; ++c) {
    CHECK(moved[0][c] == 1000 + static_cast<double>(c));
    CHECK(moved[1][c] == doctest::Approx(0.0625).epsilon(1e-6));
  }
}

TEST_CASE("the bits of the sums do not depend on the threads") {
  const ValueSpec x{DType::kFloat32, {40, 3}, true};
  Values image = filled({50, 40, 3});
  for (std::int64_t i = 0; i < image.elements(); ++i) image[i] = std::sin(static_cast<double>(i));
  CHECK(run_op(ops::BatchNormSums(), {{x, image}}, 50, 1)[0].data ==
        run_op(ops::BatchNormSums(), {{x, image}}, 50, 4)[0].data);
}

TEST_CASE("a replica's own statistics are summed over no others, back and forth") {
  for (const DType dtype : kFloatTypes) {
    Graph graph;
    const ValueSpec spec{dtype, {6, 5}, true};
    const ValueId x = graph.input("x", spec), mask = graph.input("mask", {DType::kFloat32, {6}, true});
    const ValueId sums = graph.apply_one(ops::BatchNormSums(), {x, mask});
    const ops::BatchNormBySums norm(1e-2f, {}, false);
    graph.apply(norm, {x, kNoValue, kNoValue, sums, mask});
    const Node node = graph.nodes().back();
    const ValueId dy = graph.input("dy", spec);
    const ValueId none = kNoValue, outputs[] = {dy, none, none};
    norm.gradient(graph, node, outputs, {true, false, false, false, false});
    CHECK(ops::collectives_of(graph).empty());
    CHECK(graph.nodes().back().inputs[8] == mask);
  }
}

TEST_CASE("the parts of a synchronized batch normalization refuse sums of another length") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {4, 3}, true});
  const ValueId sums = graph.input("sums", {DType::kFloat64, {6}});
  CHECK_THROWS_WITH(graph.apply(ops::BatchNormBySums(1e-3f), {x, kNoValue, kNoValue, sums}),
                    "batch_norm_by_sums: expected the sums as float64 [7], found float64 [6]");
}
