#include "graph/ops/loss.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::LossKind;

namespace {

constexpr StepParams kStep{.global_examples = 13};

double clip(double p) {
  return std::clamp(p, static_cast<double>(1e-7f), static_cast<double>(static_cast<float>(1 - 1e-7)));
}

std::vector<double> softmax(std::vector<double> y) {
  const double largest = *std::max_element(y.begin(), y.end());
  double sum = 0;
  for (double& value : y) sum += value = std::exp(value - largest);
  for (double& value : y) value /= sum;
  return y;
}

/// What losses that are a sum of terms add for one element.
double term_of(const ops::Loss& loss, double y, double t) {
  const double error = std::fabs(y - t), delta = static_cast<double>(loss.delta);
  const auto limited = [](double p) { return std::clamp(p, 1e-7, 1.0); };
  switch (loss.kind) {
    case LossKind::kMeanAbsoluteError: return error;
    case LossKind::kHuber: return error <= delta ? error * error / 2 : delta * error - delta * delta / 2;
    case LossKind::kLogCosh: return std::log(std::cosh(error));
    case LossKind::kKlDivergence: return limited(t) * std::log(limited(t) / limited(y));
    case LossKind::kPoisson: return y - t * std::log(y + 1e-7);
    case LossKind::kHinge: return std::max(0.0, 1 - (t == 0 ? -1 : t) * y);
    case LossKind::kBinaryFocalCrossentropy: {
      const double smoothing = static_cast<double>(loss.label_smoothing), alpha = static_cast<double>(loss.alpha);
      const double target = t * (1 - smoothing) + 0.5 * smoothing, p = loss.from_logits ? 1 / (1 + std::exp(-y)) : y;
      const double right = target * p + (1 - target) * (1 - p);
      const double weight = loss.balances_classes ? target * alpha + (1 - target) * (1 - alpha) : 1;
      const double crossentropy = loss.from_logits ? std::max(y, 0.0) + std::log1p(std::exp(-std::abs(y))) - y * target
                                                   : -target * std::log(clip(p)) - (1 - target) * std::log(1 - clip(p));
      return weight * std::pow(1 - right, static_cast<double>(loss.gamma)) * crossentropy;
    }
    default: return 0;
  }
}

/// The loss of one position, as Keras defines it.
double loss_of(const ops::Loss& loss, std::vector<double> y, std::vector<double> t) {
  const double classes = static_cast<double>(y.size()), smoothing = static_cast<double>(loss.label_smoothing);
  double sum = 0, total = 0;
  switch (loss.kind) {
    case LossKind::kMeanSquaredError:
      for (std::size_t i = 0; i < y.size(); ++i) sum += (y[i] - t[i]) * (y[i] - t[i]) / classes;
      return sum;
    case LossKind::kBinaryCrossentropy:
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double target = t[i] * (1 - smoothing) + 0.5 * smoothing;
        const double p = clip(y[i]);
        sum += loss.from_logits ? std::max(y[i], 0.0) - y[i] * target + std::log1p(std::exp(-std::fabs(y[i])))
                                : -target * std::log(p) - (1 - target) * std::log(1 - p);
      }
      return sum / classes;
    case LossKind::kCategoricalCrossentropy: {
      if (loss.from_logits) {
        y = softmax(y);
      } else {
        for (const double value : y) total += value;
        for (double& value : y) value = clip(value / total);
      }
      for (std::size_t i = 0; i < y.size(); ++i) {
        sum -= (t[i] * (1 - smoothing) + smoothing / classes) * std::log(y[i]);
      }
      return sum;
    }
    case LossKind::kSparseCategoricalCrossentropy: {
      if (!loss.from_logits) {
        for (double& value : y) value = std::log(clip(value));
      }
      return -std::log(softmax(y)[static_cast<std::size_t>(t[0])]);
    }
    case LossKind::kGeneralizedCrossentropy: {
      const double q = static_cast<double>(loss.q);
      return (1 - std::pow(y[static_cast<std::size_t>(t[0])], q)) / q;
    }
    case LossKind::kCosineSimilarity: {
      double yy = 0, tt = 0, yt = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        yy += y[i] * y[i];
        tt += t[i] * t[i];
        yt += y[i] * t[i];
      }
      return -yt * std::min(1 / std::sqrt(yy), 1e7) * std::min(1 / std::sqrt(tt), 1e7);
    }
    default: break;
  }
  for (std::size_t i = 0; i < y.size(); ++i) sum += term_of(loss, y[i], t[i]);
  return loss.kind == LossKind::kKlDivergence ? sum : sum / classes;
}

/// Whether a position counts by the mask, if there is one.
bool counts(const std::vector<Values>& inputs, std::int64_t position, std::int64_t all) {
  if (inputs.size() < 4) return true;
  return inputs[3][position / (all / inputs[3].elements())] != 0;
}

/// The sum over rows of means over positions, each times the row's weight where there are weights.
double total_loss(const ops::Loss& loss, const std::vector<Values>& inputs) {
  const Values &y = inputs[0], &t = inputs[1];
  const std::int64_t classes = y.shape.back(), all = y.elements() / classes;
  const std::int64_t positions = y.rows() == 0 ? 1 : all / y.rows(), targets = all == 0 ? 1 : t.elements() / all;
  double sum = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    if (!counts(inputs, i, all)) continue;
    const double weight = inputs.size() > 2 && !inputs[2].absent ? inputs[2][i / positions] : 1;
    sum += weight * loss_of(loss, {y.data.begin() + i * classes, y.data.begin() + (i + 1) * classes},
                            {t.data.begin() + i * targets, t.data.begin() + (i + 1) * targets});
  }
  return sum / static_cast<double>(positions);
}

/// How many rows' worth of positions count.
double counted(const std::vector<Values>& inputs) {
  const std::int64_t all = inputs[0].elements() / inputs[0].shape.back();
  double sum = 0;
  for (std::int64_t i = 0; i < all; ++i) sum += counts(inputs, i, all);
  return all == 0 ? 0 : sum * static_cast<double>(inputs[0].rows()) / static_cast<double>(all);
}

/// Output 1 by central differences, as the op gives it along with the loss.
Reference reference_of(const ops::Loss& loss) {
  return [=](std::vector<Values> inputs) {
    std::vector<Values> outputs{{Shape{}, {total_loss(loss, inputs)}}, filled(inputs[0].shape)};
    if (inputs.size() > 3) outputs[0] = {Shape{2}, {outputs[0][0], counted(inputs)}};
    constexpr double kDelta = 1e-6;
    for (std::int64_t i = 0; i < inputs[0].elements(); ++i) {
      const double middle = inputs[0][i];
      inputs[0][i] = middle + kDelta;
      const double after = total_loss(loss, inputs);
      inputs[0][i] = middle - kDelta;
      outputs[1][i] = (after - total_loss(loss, inputs)) / (2 * kDelta) / static_cast<double>(kStep.global_examples);
      inputs[0][i] = middle;
    }
    return outputs;
  };
}

bool reads_probabilities(LossKind kind) {
  return kind == LossKind::kBinaryCrossentropy || kind == LossKind::kCategoricalCrossentropy ||
         kind == LossKind::kSparseCategoricalCrossentropy || kind == LossKind::kKlDivergence ||
         kind == LossKind::kPoisson || kind == LossKind::kBinaryFocalCrossentropy ||
         kind == LossKind::kGeneralizedCrossentropy;
}

ops::Loss huber(float delta) {
  ops::Loss loss(LossKind::kHuber);
  loss.delta = delta;
  return loss;
}

ops::Loss focal(bool logits, float smoothing, float gamma, bool balanced) {
  ops::Loss loss(LossKind::kBinaryFocalCrossentropy, logits, smoothing);
  loss.gamma = gamma;
  loss.balances_classes = balanced;
  return loss;
}

ops::Loss generalized(float q) {
  ops::Loss loss(LossKind::kGeneralizedCrossentropy);
  loss.q = q;
  return loss;
}

Case loss_case(const ops::Loss& loss, const Shape& shape) {
  const std::int64_t classes = shape.back();
  const bool sparse = ops::reads_class_numbers(loss.kind);
  const bool probabilities = !loss.from_logits && reads_probabilities(loss.kind);
  const Fill prediction = [=](std::int64_t, double u) { return probabilities ? 0.5 + 0.45 * u : 3 * u; };
  const Fill label = [=](std::int64_t i, double) { return static_cast<double>((i * 7 + 3) % classes); };
  const Fill target = [=](std::int64_t i, double u) {
    if (loss.kind == LossKind::kCategoricalCrossentropy) return i % classes == (i / classes) % classes ? 1.0 : 0.0;
    if (loss.kind == LossKind::kHinge) return i % 2 == 0 ? (u > 0 ? 1.0 : 0.0) : (u > 0 ? 1.0 : -1.0);
    if (loss.kind == LossKind::kKlDivergence) return 0.5 + 0.5 * u;
    return reads_probabilities(loss.kind) ? (u > 0 ? 1.0 : 0.0) : u;
  };
  Shape labels(std::vector<std::int64_t>(shape.begin(), shape.end() - 1));
  return {.name = fmt::format("loss {} logits {} smoothing {} {}", static_cast<int>(loss.kind), loss.from_logits,
                              loss.label_smoothing, shape.text()),
          .op = std::make_shared<ops::Loss>(loss),
          .inputs = {batched(DType::kFloat32, shape, prediction),
                     sparse ? batched(DType::kInt32, labels, label) : batched(DType::kFloat32, shape, target)},
          .reference = reference_of(loss),
          .rows = {4, 1, 0},
          .tolerance = 5e-6,
          .step = kStep,
          .is_loss = true};
}

const ops::Loss kLosses[] = {
    generalized(0.5f),
    generalized(0.9f),
    ops::Loss(LossKind::kMeanSquaredError),
    ops::Loss(LossKind::kBinaryCrossentropy, false),
    ops::Loss(LossKind::kBinaryCrossentropy, true),
    ops::Loss(LossKind::kBinaryCrossentropy, false, 0.2f),
    ops::Loss(LossKind::kBinaryCrossentropy, true, 0.2f),
    ops::Loss(LossKind::kCategoricalCrossentropy, false),
    ops::Loss(LossKind::kCategoricalCrossentropy, true),
    ops::Loss(LossKind::kCategoricalCrossentropy, false, 0.1f),
    ops::Loss(LossKind::kCategoricalCrossentropy, true, 0.1f),
    ops::Loss(LossKind::kSparseCategoricalCrossentropy, false),
    ops::Loss(LossKind::kSparseCategoricalCrossentropy, true),
    ops::Loss(LossKind::kMeanAbsoluteError),
    huber(1),
    huber(0.3f),
    ops::Loss(LossKind::kLogCosh),
    ops::Loss(LossKind::kKlDivergence),
    ops::Loss(LossKind::kPoisson),
    ops::Loss(LossKind::kHinge),
    ops::Loss(LossKind::kCosineSimilarity),
    focal(false, 0, 2, false),
    focal(true, 0, 2, false),
    focal(false, 0.2f, 1.5f, true),
    focal(true, 0.1f, 3, true),
};

}  // namespace

TEST_CASE("losses and their gradients match a reference in double") {
  for (const ops::Loss& loss : kLosses) {
    for (const Shape& shape : {Shape{10}, Shape{1}, Shape{2, 3, 7}, Shape{37}}) {
      if (loss.kind == LossKind::kCosineSimilarity && shape.back() == 1) continue;  // constant, but for rounding
      Case test = loss_case(loss, shape);
      check_forward(test);
      test.reference = [loss](const std::vector<Values>& inputs) {
        return std::vector<Values>{{Shape{}, {total_loss(loss, inputs)}}};
      };
      check_gradient(test, {true, false});
    }
  }
}

TEST_CASE("weights multiply the losses of rows and their gradients") {
  const Fill weight = [](std::int64_t i, double) { return i == 1 ? 0.0 : 0.5 + static_cast<double>(i); };
  for (const ops::Loss& loss : kLosses) {
    for (const Shape& shape : {Shape{10}, Shape{1}, Shape{2, 3, 7}}) {
      if (loss.kind == LossKind::kCosineSimilarity && shape.back() == 1) continue;
      Case test = loss_case(loss, shape);
      test.name += " weighted";
      test.inputs.push_back(batched(DType::kFloat32, Shape{}, weight));
      check_forward(test);
      test.reference = [loss](const std::vector<Values>& inputs) {
        return std::vector<Values>{{Shape{}, {total_loss(loss, inputs)}}};
      };
      check_gradient(test, {true, false, false});
    }
  }
}

TEST_CASE("a mask leaves positions out of a loss, whose gradient is divided by those that count in the global batch") {
  const Fill mask = [](std::int64_t i, double uniform) { return i == 0 || uniform > 0.2 ? 1.0 : 0.0; };
  const Fill weight = [](std::int64_t i, double) { return 0.5 + static_cast<double>(i); };
  const std::pair<Shape, Shape> kShapes[] = {{{5, 7}, {5}}, {{9, 1}, {9}}, {{2, 3, 4}, {2}}, {{2, 3, 4}, {2, 3}}};
  for (const ops::Loss& loss : kLosses) {
    for (const auto& [shape, of_mask] : kShapes) {
      for (const bool weighted : {false, true}) {
        if (loss.kind == LossKind::kCosineSimilarity && shape.back() == 1) continue;
        Case test = loss_case(loss, shape);
        test.name += fmt::format(" mask {}{}", of_mask.text(), weighted ? " weighted" : "");
        // So many count that the gradient is that of the sum / global examples, as the references have it.
        Operand total = fixed({}, [cells = of_mask.elements()](std::int64_t, double) {
          return static_cast<double>(kStep.global_examples * cells);
        });
        total.spec.dtype = DType::kFloat64;
        test.inputs.push_back(weighted ? batched(DType::kFloat32, Shape{}, weight) : absent());
        test.inputs.push_back(batched(DType::kFloat32, of_mask, mask));
        test.inputs.push_back(total);
        check_forward(test);
        check_gradient(test, {true, false, false, false, false});
      }
    }
  }
}

TEST_CASE("a batch of padding alone has no loss and no gradient") {
  const ValueSpec y{DType::kFloat32, {2, 1}, true}, mask{DType::kFloat32, {2}, true}, total{DType::kFloat64, {}};
  const Values numbers{{1, 2, 1}, {3, std::nan("")}};
  const auto found = run_op(ops::Loss(LossKind::kMeanSquaredError),
                            {{y, numbers},
                             {y, numbers},
                             {{.shape = {0}}, {Shape{0}, {}, true}},
                             {mask, filled({1, 2})},
                             {total, filled(Shape{})}},
                            1);
  CHECK(found[0].data == std::vector<double>{0, 0});
  CHECK(found[1].data == std::vector<double>{0, 0});
}

TEST_CASE("losses sum many rows over threads") {
  for (const ops::Loss& loss : kLosses) {
    Case test = loss_case(loss, {64});
    const auto expected = [loss](const std::vector<Values>& inputs) { return total_loss(loss, inputs); };
    Values y = filled({700, 64}), t = filled(test.inputs[1].spec.shape_at(700));
    for (std::int64_t i = 0; i < y.elements(); ++i) y[i] = 0.5 + 0.4 * std::sin(static_cast<double>(i));
    for (double& value : y.data) value = rounded(DType::kFloat32, value);
    for (std::int64_t i = 0; i < t.elements(); ++i) t[i] = static_cast<double>(i % 2);
    const std::vector<std::pair<ValueSpec, Values>> inputs{{test.inputs[0].spec, y}, {test.inputs[1].spec, t}};
    const auto one = run_op(loss, inputs, 700, 1), three = run_op(loss, inputs, 700, 3);
    CHECK(one[0][0] == doctest::Approx(expected({y, t})).epsilon(1e-5));
    CHECK(one[0].data == three[0].data);
    CHECK(one[1].data == three[1].data);
  }
}

TEST_CASE("probabilities outside the clip have a finite loss and no gradient of their own") {
  const Values y{{1, 2}, {0, 1}};
  const ValueSpec spec{DType::kFloat32, {2}, true};
  const auto binary = run_op(ops::Loss(LossKind::kBinaryCrossentropy), {{spec, y}, {spec, {{1, 2}, {1, 0}}}}, 1);
  CHECK(binary[0][0] == doctest::Approx((-std::log(1e-7) - std::log(1.1920929e-7)) / 2));
  CHECK(binary[1].data == std::vector<double>{0, 0});
}

TEST_CASE("a prediction that is NaN has a loss that is NaN, wherever it is") {
  for (const ops::Loss& loss : kLosses) {
    for (const std::int64_t width : {3, 37}) {
      const Case test = loss_case(loss, Shape{width});
      for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, width - 1}) {
        std::vector<std::pair<ValueSpec, Values>> inputs;
        for (const Operand& operand : test.inputs) {
          std::vector<std::int64_t> dims{1};
          for (const std::int64_t extent : operand.spec.shape) dims.push_back(extent);
          Values values{Shape(dims), {}};
          for (std::int64_t i = 0; i < values.shape.elements(); ++i) values.data.push_back(operand.fill(i, 0.1));
          inputs.emplace_back(operand.spec, std::move(values));
        }
        if (loss.kind == LossKind::kGeneralizedCrossentropy) inputs[1].second.data[0] = double(at);  // it alone counts
        inputs[0].second.data[static_cast<std::size_t>(at)] = NAN;
        CAPTURE(test.name);
        CAPTURE(at);
        CHECK(std::isnan(run_op(loss, inputs, 1)[0][0]));
      }
    }
  }
}

TEST_CASE("crossentropy of huge logits is finite") {
  const ValueSpec spec{DType::kFloat32, {2}, true}, label{DType::kInt32, {}, true};
  const Values y{{1, 2}, {1e4, -1e4}};
  const auto sparse =
      run_op(ops::Loss(LossKind::kSparseCategoricalCrossentropy, true), {{spec, y}, {label, {{1}, {1}}}}, 1);
  CHECK(sparse[0][0] == 2e4);
  CHECK(sparse[1].data == std::vector<double>{1, -1});
  const auto binary = run_op(ops::Loss(LossKind::kBinaryCrossentropy, true), {{spec, y}, {spec, {{1, 2}, {0, 1}}}}, 1);
  CHECK(binary[0][0] == 1e4);
  // A mistake of any size has a slope, through the focal factor too.
  const auto focal = run_op(ops::Loss(LossKind::kBinaryFocalCrossentropy, true),
                            {{spec, {{1, 2}, {30, 0}}}, {spec, {{1, 2}, {0, 0}}}}, 1);
  CHECK(focal[0][0] == doctest::Approx((30 + 0.25 * std::log(2.0)) / 2));
  CHECK(focal[1].data[0] == doctest::Approx(0.5));
}

TEST_CASE("losses hold where a formula of theirs does not") {
  const ValueSpec spec{DType::kFloat32, {2}, true};
  const auto at = [&](const ops::Loss& loss, std::vector<double> y, std::vector<double> t) {
    return run_op(loss, {{spec, {{1, 2}, std::move(y)}}, {spec, {{1, 2}, std::move(t)}}}, 1);
  };
  const auto large = at(ops::Loss(LossKind::kLogCosh), {1e4, -1e4}, {0, 0});
  CHECK(large[0][0] == doctest::Approx(1e4 - std::log(2)));
  CHECK(large[1].data == std::vector<double>{0.5, -0.5});
  CHECK(at(ops::Loss(LossKind::kLogCosh), {1e-3, 0}, {0, 0})[0][0] == doctest::Approx(0.25e-6).epsilon(1e-3));
  CHECK(std::isnan(at(ops::Loss(LossKind::kPoisson), {-1, 1}, {1, 1})[0][0]));
  const auto zero = at(ops::Loss(LossKind::kCosineSimilarity), {0, 0}, {3, 4});
  CHECK(zero[0][0] == 0);
  CHECK(zero[1][1] == doctest::Approx(-0.8e7));
  const auto hit = at(focal(false, 0, 2, false), {0, 1}, {0, 1});
  CHECK(hit[0][0] == doctest::Approx(0).scale(1));
  CHECK(std::isfinite(hit[1][0]));
  const auto missed = at(focal(true, 0, 2, false), {1e4, -1e4}, {0, 1});
  CHECK(missed[0][0] == 1e4);
}

TEST_CASE("a class number outside the classes gives NaN and touches nothing else") {
  for (const bool logits : {false, true}) {
    const ValueSpec spec{DType::kFloat32, {3}, true}, label{DType::kInt32, {1}, true};
    const Values y{{2, 3}, {.2, .3, .5, .2, .3, .5}};
    const ops::Loss loss(LossKind::kSparseCategoricalCrossentropy, logits);
    CHECK(std::isnan(run_op(loss, {{spec, y}, {label, {{2, 1}, {3, 0}}}}, 2)[0][0]));
    CHECK(std::isnan(run_op(loss, {{spec, y}, {label, {{2, 1}, {0, -1}}}}, 2)[0][0]));
  }
}

TEST_CASE("a loss refuses targets of another shape or type") {
  Graph graph;
  const ValueId y = graph.input("y", {DType::kFloat32, {4, 10}, true});
  const ValueId wide = graph.input("t", {DType::kFloat32, {4, 9}, true});
  CHECK_THROWS_WITH(graph.apply(ops::Loss(LossKind::kMeanSquaredError), {y, wide}),
                    "loss: expected targets as float32 [4, 10] per row, found float32 [4, 9] per row");
  CHECK_THROWS_WITH(graph.apply(ops::Loss(LossKind::kSparseCategoricalCrossentropy), {y, wide}),
                    "loss: expected targets as int32 [4] per row, found float32 [4, 9] per row");
}
