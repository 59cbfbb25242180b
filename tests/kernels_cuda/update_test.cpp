#include "kernels/cuda/update.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/cpu/update.h"
#include "kernels/storage.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain {
namespace {

using namespace scalar;
using testing::in_each_geometry;
using testing::stream_under_test;

/// What kernels reach, wherever they run.
template <class T>
using Vector = std::pmr::vector<T>;

/// Memory that is aligned as a device's, and NaN from the first element behind the group on.
class Floats {
 public:
  explicit Floats(std::int64_t count)
      : count_(count), storage_(static_cast<std::size_t>(count) * sizeof(float)), data_(storage_data()) {}
  Floats(const Floats& other) : Floats(other.count_) { std::copy_n(other.data_, count_, data_); }
  Floats(Floats&&) = default;
  float* data() const { return data_; }
  float& operator[](std::int64_t i) const { return data_[i]; }
  bool intact() const { return storage_.intact(); }
  bool is_near(const Floats& other, float tolerance) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!(std::abs(data_[i] - other[i]) <= tolerance * std::max(1.0f, std::abs(other[i])))) return false;
    }
    return intact();
  }

 private:
  float* storage_data() const { return reinterpret_cast<float*>(storage_.data()); }
  std::int64_t count_;
  testing::Storage storage_;
  float* data_;
};

/// A group, and twice the memory for it: what the CPU's kernels and what the GPU's work on.
struct Group {
  std::int64_t elements;
  Vector<RegularizedSegment> segments;
  std::vector<Floats> gradients;
  struct Memory {
    Floats master, first, second, third, average, accumulated;
    Vector<double> regularization, squares;
    Vector<NormSums> norms;
    Vector<float> ratios;
    UpdateGroupView view(const Group& group) {
      UpdateGroupView view;
      view.regularized = group.segments;
      view.traits = group.traits;
      view.master = master.data();
      view.slots = {first.data(), second.data(), third.data(), average.data()};
      view.accumulated = accumulated.data();
      view.regularization = regularization.data();
      view.squares = squares.data();
      if (group.traits.averages) view.average = average.data();
      view.normed = group.variables;
      view.norms = norms.data();
      view.ratios = ratios.data();
      return view;
    }
  };
  UpdateTraits traits;
  Vector<NormedSegment> variables;  ///< with padding between them
  std::vector<Memory> memory;
  Vector<bfloat16> rounded;

  Group(std::int64_t count, int replicas, Vector<RegularizedSegment> regularized)
      : elements(count), segments(std::move(regularized)), rounded(static_cast<std::size_t>(count)) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](const Floats& floats) {
      for (std::int64_t i = 0; i < count; ++i) floats[i] = uniform(random);
    };
    for (int r = 0; r < replicas; ++r) fill(gradients.emplace_back(count));
    Floats master(count), zeros(count);
    fill(master);
    std::fill_n(zeros.data(), count, 0.0f);
    const Vector<double> sums(static_cast<std::size_t>((count + kUpdateChunk - 1) / kUpdateChunk), 0.0);
    for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {16, 2100}, {2112, count}}) {
      const NormedSegment* const last = variables.empty() ? nullptr : &variables.back();
      const std::int64_t first_sum = last == nullptr ? 0 : last->first_sum + last->sums();
      if (begin < count) variables.push_back({begin, std::min(end, count), first_sum});
    }
    const auto pieces = static_cast<std::size_t>(variables.back().first_sum + variables.back().sums());
    for (int twin = 0; twin < 2; ++twin) {
      memory.push_back({master, zeros, zeros, zeros, zeros, Floats(count), sums, sums, Vector<NormSums>(pieces),
                        Vector<float>(variables.size())});
    }
  }
  /// As in a store; what kernels do to it is then nothing.
  void clear_padding() {
    for (Memory& twin : memory) {
      for (std::int64_t i = variables[0].end; i < std::min<std::int64_t>(16, elements); ++i) twin.master[i] = 0;
      for (std::int64_t i = 2100; i < std::min<std::int64_t>(2112, elements); ++i) twin.master[i] = 0;
    }
  }
  UpdateGroupView host() { return memory[0].view(*this); }
  UpdateGroupView device() {
    UpdateGroupView view = memory[1].view(*this);
    view.rounded = rounded.data();
    return view;
  }
  /// The last replica has no examples.
  std::vector<GradientSource> sources() const {
    std::vector<GradientSource> all;
    float scale = 1;
    for (const Floats& gradient : gradients) all.push_back({gradient.data(), scale *= 0.75f});
    if (all.size() > 2) all.back().scale = 0;
    return all;
  }
  /// As near as they are where products and sums are rounded together in other places.
  void check_equal() {
    stream_under_test().synchronize();
    CHECK(memory[1].master.is_near(memory[0].master, 2e-6f));  // a quotient, where gradients nearly cancel
    CHECK(memory[1].first.is_near(memory[0].first, 1e-6f));
    CHECK(memory[1].second.is_near(memory[0].second, 4e-6f));
    CHECK(memory[1].third.is_near(memory[0].third, 1e-6f));
    CHECK(memory[1].average.is_near(memory[0].average, 2e-6f));
    for (std::size_t i = 0; i < memory[0].regularization.size(); ++i) {
      CHECK(memory[1].regularization[i] == doctest::Approx(memory[0].regularization[i]).epsilon(1e-6));
    }
    for (std::int64_t i = 0; i < elements; ++i) {
      if (rounded[static_cast<std::size_t>(i)].bits != bfloat16(memory[1].master[i]).bits) FAIL("not rounded: ", i);
    }
  }
};

const UpdateRule kRules[] = {Sgd{},
                             Sgd{0.9f},
                             Sgd{0.9f, true},
                             Adam{0.9f, 0.99f, 1e-3f},
                             Adam{0.9f, 0.99f, 1e-3f, true},
                             Rmsprop{0.8f, 0, 1e-3f},
                             Rmsprop{0.8f, 0.5f, 1e-3f, true},
                             Adagrad{0.1f, 1e-3f},
                             Adadelta{0.9f, 1e-3f},
                             Adamax{0.9f, 0.99f, 1e-3f},
                             Nadam{0.9f, 0.99f, 1e-3f},
                             ScheduleFreeAdam{0.9f, 0.99f, 1e-3f, 2},
                             Ftrl{-0.5f, 0.1f, 0.01f, 0.02f, 0.03f, 0.04f},
                             Lion{0.5f, 0.75f}};

/// Without any, and with a decay, a rate and an average of their own.
const UpdateTraits kTraits[] = {{}, {0.5f, 0.05f, true, 0.75f, 2}};

/// Whole chunks, a part of one, and a last element alone.
const std::int64_t kCounts[] = {1, 5, kUpdateChunk, kUpdateChunk + 1, 3 * kUpdateChunk + 78};

Vector<RegularizedSegment> segments_within(std::int64_t count) {
  Vector<RegularizedSegment> segments;
  for (const RegularizedSegment& one :
       {RegularizedSegment{0, 3, 0.01f, 0}, {3, 4, 0, 0.5f}, {10, 5000, 0.01f, 0.02f}, {5001, 6200, 0.3f, 0.2f}}) {
    if (one.end <= count) segments.push_back(one);
  }
  return segments;
}

}  // namespace

TEST_CASE("every rule updates as the CPU does, for any number of elements, sources and blocks") {
  Stream& stream = stream_under_test();
  for (const UpdateRule& rule : kRules) {
    for (const std::int64_t count : kCounts) {
      for (const int replicas : {1, 2, 5}) {
        in_each_geometry([&](std::int64_t) {
          Group group(count, replicas, segments_within(count));
          group.traits = kTraits[replicas == 2 ? 1 : 0];
          const auto sources = group.sources();
          for (int t = 1; t <= 2; ++t) {
            const Vector<StepParams> params{{.learning_rates = {0.1f / static_cast<float>(t)},
                                             .scale = t == 1 ? 1.0f : 0.5f,
                                             .clip_value = t == 1 ? StepParams().clip_value : 0.3f,
                                             .updates = t}};
            cpu::update(rule, group.host(), {sources, 0.7f}, params[0], 0, count);
            // In two shards, as two lanes do it.
            const std::int64_t middle = std::min(count, kUpdateChunk);
            cuda::update(stream, rule, group.device(), {sources, 0.7f}, params.data(), 0, middle);
            cuda::update(stream, rule, group.device(), {sources, 0.7f}, params.data(), middle, count);
            stream.synchronize();
          }
          group.check_equal();
        });
      }
    }
  }
}

TEST_CASE("gradients accumulated over steps, with their squares, update as the CPU's") {
  Stream& stream = stream_under_test();
  for (const UpdateRule& rule : kRules) {
    for (const std::int64_t count : kCounts) {
      Group group(count, 3, segments_within(count));
      const auto sources = group.sources();
      for (int step = 0; step < 3; ++step) {
        cpu::accumulate(group.host(), {sources, 1}, step == 0, 0, count);
        cuda::accumulate(stream, group.device(), {sources, 1}, step == 0, 0, count);
      }
      stream.synchronize();
      Vector<double> squares{0}, total{-1};
      for (std::size_t i = 0; i < group.memory[0].squares.size(); ++i) {
        squares[0] += group.memory[0].squares[i];
        CHECK(group.memory[1].squares[i] == doctest::Approx(group.memory[0].squares[i]).epsilon(1e-6));
      }
      const auto chunks = static_cast<std::int64_t>(group.memory[1].squares.size());
      cuda::sum_numbers(stream, group.memory[1].squares.data(), chunks, 0.5, true, total.data());
      stream.synchronize();
      CHECK(total[0] == doctest::Approx(0.5 * squares[0]).epsilon(1e-6));
      cuda::sum_numbers(stream, group.memory[1].squares.data(), chunks, 0.25, false, total.data());
      Vector<StepParams> params{{.learning_rates = {0.1f}, .updates = 1}};
      cuda::scale_to_norm(stream, squares.data(), 0.5, 3, params.data());
      stream.synchronize();
      CHECK(total[0] == doctest::Approx(0.75 * squares[0]).epsilon(1e-6));
      const double norm = std::sqrt(squares[0]) / 3;
      CHECK(params[0].scale == doctest::Approx(std::min(1.0, 0.5 / norm) / 3));
      cpu::update_accumulated(rule, group.host(), params[0], 0, count);
      cuda::update_accumulated(stream, rule, group.device(), params.data(), 0, count);
      group.check_equal();
    }
  }
}

TEST_CASE("a rule that scales by norms measures and updates as the CPU does") {
  Stream& stream = stream_under_test();
  const UpdateRule lamb = Lamb{0.9f, 0.99f, 1e-3f};
  for (const UpdateTraits& traits : kTraits) {
    for (const std::int64_t count : kCounts) {
      in_each_geometry([&](std::int64_t) {
        Group group(count, 2, segments_within(count));
        group.clear_padding();
        group.traits = traits;
        for (int t = 1; t <= 2; ++t) {
          const Vector<StepParams> params{{.learning_rates = {0.1f}, .scale = 0.5f, .clip_value = 0.7f, .updates = t}};
          cpu::accumulate(group.host(), {group.sources(), 1}, true, 0, count);
          cpu::measure(lamb, group.host(), params[0], 0, count);
          cpu::update_accumulated(lamb, group.host(), params[0], 0, count);
          cuda::accumulate(stream, group.device(), {group.sources(), 1}, true, 0, count);
          cuda::measure(stream, lamb, group.device(), params.data(), 0, count);
          cuda::update_accumulated(stream, lamb, group.device(), params.data(), 0, count);
          stream.synchronize();
        }
        for (std::size_t i = 0; i < group.memory[0].norms.size(); ++i) {
          CHECK(group.memory[1].norms[i].weights == doctest::Approx(group.memory[0].norms[i].weights).epsilon(1e-5));
          CHECK(group.memory[1].norms[i].direction ==
                doctest::Approx(group.memory[0].norms[i].direction).epsilon(1e-5));
        }
        CHECK(group.memory[1].master.is_near(group.memory[0].master, 5e-6f));
        CHECK(group.memory[1].average.is_near(group.memory[0].average, 5e-6f));
      });
    }
  }
}

TEST_CASE("a norm below the limit only divides by the number of gradients") {
  Stream& stream = stream_under_test();
  const Vector<double> squares{4};
  Vector<StepParams> params(1);
  cuda::scale_to_norm(stream, squares.data(), 1.0, 2, params.data());
  stream.synchronize();
  CHECK(params[0].scale == 0.5f);
}

TEST_CASE("a group without regularization and an empty shard are updated as well") {
  Stream& stream = stream_under_test();
  Group group(100, 1, {});
  const auto sources = group.sources();
  const Vector<StepParams> params{{.learning_rates = {0.1f}}};
  cpu::update(Sgd{}, group.host(), {sources}, params[0], 0, 100);
  cuda::update(stream, Sgd{}, group.device(), {sources}, params.data(), 0, 100);
  cuda::update(stream, Sgd{}, group.device(), {sources}, params.data(), 0, 0);
  group.check_equal();
}

TEST_CASE("sources are added in their order, also over one of them") {
  Stream& stream = stream_under_test();
  for (const std::int64_t count : kCounts) {
    Group group(count, 4, {});
    const auto sources = group.sources();
    Floats expected(count), found(count);
    for (std::int64_t i = 0; i < count; ++i) {
      expected[i] = 0;
      for (const GradientSource& source : sources) expected[i] += source.scale * source.elements[i];
    }
    cuda::sum_sources(stream, sources, found.data(), 0, count);
    stream.synchronize();
    CHECK(found.is_near(expected, 1e-6f));
    cuda::sum_sources(stream, sources, group.gradients[1].data(), 0, count);
    stream.synchronize();
    CHECK(group.gradients[1].is_near(expected, 1e-6f));
  }
}

TEST_CASE("gradients are compressed, added and expanded as by the CPU, and what rounding leaves is kept") {
  Stream& stream = stream_under_test();
  constexpr int kRanks = 3;
  for (const std::int64_t count : kCounts) {
    Floats gradient(count), residual(count), expected_residual(count), expected(count), found(count);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < count; ++i) {
      gradient[i] = normal(random);
      residual[i] = expected_residual[i] = 0.003f * normal(random);
    }
    gradient[0] = std::numeric_limits<float>::infinity();
    const auto size = static_cast<std::size_t>(count);
    Vector<bfloat16> sent(size), expected_sent(size), terms(size * kRanks), sum(size), expected_sum(size);
    for (bfloat16& term : terms) term = bfloat16(normal(random));
    const Floats before(residual);
    cpu::compress(gradient.data(), expected_residual.data(), expected_sent.data(), count);
    cuda::compress(stream, gradient.data(), residual.data(), sent.data(), count);
    stream.synchronize();
    for (std::int64_t i = 0; i < count; ++i) {
      CHECK(sent[static_cast<std::size_t>(i)].bits == expected_sent[static_cast<std::size_t>(i)].bits);
      const double all = static_cast<double>(gradient[i] + before[i]);
      const double kept = static_cast<double>(sent[static_cast<std::size_t>(i)]) + static_cast<double>(residual[i]);
      CHECK((i == 0 ? residual[i] == 0 : kept == all));
    }
    CHECK(residual.is_near(expected_residual, 0));
    cpu::add_compressed({terms.data(), kRanks, count, expected_sum.data(), expected_residual.data(), count});
    cuda::add_compressed(stream, {terms.data(), kRanks, count, sum.data(), residual.data(), count});
    stream.synchronize();
    for (std::size_t i = 0; i < size; ++i) CHECK(sum[i].bits == expected_sum[i].bits);
    CHECK(residual.is_near(expected_residual, 0));
    cpu::expand({expected_sum.data(), expected.data(), count});
    cuda::expand(stream, {sum.data(), found.data(), count});
    stream.synchronize();
    CHECK(found.is_near(expected, 0));
  }
}

TEST_CASE("shards of a sum over the ranks are added as by the CPU, in the ranks' order") {
  InlineStream stream;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{4999}}) {
    constexpr int kRanks = 5;
    const auto size = static_cast<std::size_t>(count);
    Floats terms(size * kRanks), sum(size), expected(size);
    for (std::size_t i = 0; i < size * kRanks; ++i) terms[i] = normal(random);
    cpu::add_shards({terms.data(), kRanks, count, expected.data()});
    cuda::add_shards(stream, {terms.data(), kRanks, count, sum.data()});
    stream.synchronize();
    CHECK(sum.is_near(expected, 0));
    for (std::size_t i = 0; i < size; ++i) {
      double whole = 0;
      for (std::size_t rank = 0; rank < kRanks; ++rank) whole += static_cast<double>(terms[rank * size + i]);
      CHECK(expected[i] == doctest::Approx(whole).epsilon(1e-5));
    }
  }
}

TEST_CASE("weights are scaled to their largest norms as by the CPU, with their rounded copy") {
  // Of a matrix [70, 33]: its columns, its rows, and every element's neighbours two columns apart.
  for (const WeightBounds& norms :
       {WeightBounds{{0, 4.5f}, {1, 33, 0, 1}, {1, 70, 0, 33}},
        WeightBounds{{1, 3, 0.5f}, {1, 70, 0, 33}, {1, 33, 0, 1}},
        WeightBounds{{0, 1}, {10, 3, 231, 1}, {7, 11, 33, 3}}, WeightBounds{{0, 0, 1, true}, {1, 70 * 33, 0, 1}, {}}}) {
    Stream& stream = stream_under_test();
    in_each_geometry([&](std::int64_t) {
      const std::int64_t count = 70 * 33, last = norms.kept.count();
      Floats host(count), device(count);
      std::mt19937 random(5);
      std::uniform_real_distribution<float> uniform(-1, 1);
      for (std::int64_t i = 0; i < count; ++i) host[i] = device[i] = uniform(random);
      Vector<bfloat16> rounded(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) rounded[static_cast<std::size_t>(i)] = bfloat16(device[i]);
      cpu::bound_weights(norms, host.data(), 0, last);
      cuda::bound_weights(stream, norms, device.data(), rounded.data(), 0, last / 2);
      cuda::bound_weights(stream, norms, device.data(), rounded.data(), last / 2, last);
      stream.synchronize();
      CHECK(device.is_near(host, 1e-6f));
      for (std::int64_t i = 0; i < count; ++i) {
        if (rounded[static_cast<std::size_t>(i)].bits != bfloat16(device[i]).bits) FAIL("not rounded: ", i);
      }
    });
  }
}

TEST_CASE("weights are divided by their largest singular value as by the CPU, with their rounded copy") {
  for (const auto& [rows, columns] :
       {std::pair(scalar::StridedAxes{1, 70, 0, 33}, scalar::StridedAxes{1, 33, 0, 1}),
        std::pair(scalar::StridedAxes{7, 11, 330, 10}, scalar::StridedAxes{3, 10, 110, 1})}) {
    for (const int iterations : {1, 2}) {
      const scalar::WeightMatrix matrix{rows, columns, iterations};
      Stream& stream = stream_under_test();
      in_each_geometry([&](std::int64_t) {
        const std::int64_t count = 70 * 33;
        Floats host(count), device(count), of_host(columns.count()), of_device(columns.count());
        std::mt19937 random(5);
        std::normal_distribution<float> normal;
        for (std::int64_t i = 0; i < count; ++i) host[i] = device[i] = normal(random);
        for (std::int64_t i = 0; i < columns.count(); ++i) of_host[i] = of_device[i] = normal(random);
        Vector<bfloat16> rounded(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) rounded[static_cast<std::size_t>(i)] = bfloat16(device[i]);
        Vector<double> scratch(static_cast<std::size_t>(matrix.scratch()));
        cpu::normalize_spectrum(matrix, host.data(), of_host.data(), scratch.data());
        cuda::normalize_spectrum(stream, matrix, device.data(), rounded.data(), of_device.data(), scratch.data());
        stream.synchronize();
        CHECK(device.is_near(host, 1e-6f));
        CHECK(of_device.is_near(of_host, 1e-6f));
        for (std::int64_t i = 0; i < count; ++i) {
          if (rounded[static_cast<std::size_t>(i)].bits != bfloat16(device[i]).bits) FAIL("not rounded: ", i);
        }
      });
    }
  }
}

TEST_CASE("more sources than an update takes are refused") {
  Stream& stream = stream_under_test();
  Group group(4, 65, {});
  const auto sources = group.sources();
  const Vector<StepParams> params(1);
  CHECK_THROWS_WITH(cuda::update(stream, Sgd{}, group.device(), {sources}, params.data(), 0, 4),
                    "an update on CUDA adds at most 64 gradients, found 65; use fewer replicas on one GPU");
}

TEST_CASE("copies become their sum or mean in double, rounded once, in any grid") {
  constexpr std::int64_t kCount = 300, kStride = 304;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (const int copies : {1, 3, 8}) {
    const Floats from(copies * kStride), to(kCount);
    for (std::int64_t i = 0; i < copies * kStride; ++i) from[i] = numbers(random) * (i % 5 == 0 ? 1e-6f : 1e3f);
    for (const bool mean : {false, true}) {
      in_each_geometry([&](std::int64_t) {
        cuda::combine_copies(stream_under_test(), from.data(), copies, kStride, mean, to.data(), kCount);
        stream_under_test().synchronize();
        for (std::int64_t i = 0; i < kCount; ++i) {
          double sum = 0;
          for (int copy = 0; copy < copies; ++copy) sum += static_cast<double>(from[copy * kStride + i]);
          CHECK(to[i] == static_cast<float>(mean ? sum / copies : sum));
        }
        CHECK(to.intact());
      });
    }
  }
}

}  // namespace mirrortrain
