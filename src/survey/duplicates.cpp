#include "survey/duplicates.h"

#include <algorithm>
#include <tuple>

namespace mirrortrain::survey {
namespace {

constexpr std::size_t kMostShown = 5;

auto features_of(const ExampleMark& mark) { return std::tuple(mark.hash, mark.check); }
auto order_of(const ExampleMark& mark) { return std::tuple(mark.hash, mark.check, mark.row); }

void add(Duplicates& found, const ExampleMark& first, const ExampleMark& second) {
  ++found.count;
  found.examples.emplace_back(first.row, second.row);
  // The first few by the second's number: the order of hashes says nothing.
  if (found.examples.size() < 2 * kMostShown) return;
  std::ranges::sort(found.examples, {}, &std::pair<std::int64_t, std::int64_t>::second);
  found.examples.resize(kMostShown);
}

void finish(Duplicates& found) {
  std::ranges::sort(found.examples, {}, &std::pair<std::int64_t, std::int64_t>::second);
  found.examples.resize(std::min(found.examples.size(), kMostShown));
}

}  // namespace

void sort_marks(std::vector<ExampleMark>& marks) { std::ranges::sort(marks, {}, order_of); }

Duplicates duplicates_between(const std::vector<ExampleMark>& first, const std::vector<ExampleMark>& second) {
  Duplicates found;
  auto at = first.begin();
  for (const ExampleMark& mark : second) {
    while (at != first.end() && features_of(*at) < features_of(mark)) ++at;
    if (at == first.end()) break;
    if (features_of(*at) == features_of(mark)) add(found, *at, mark);
  }
  finish(found);
  return found;
}

Duplicates duplicates_in(const std::vector<ExampleMark>& marks) {
  Duplicates found;
  std::size_t first = 0;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (features_of(marks[i]) == features_of(marks[first])) {
      add(found, marks[first], marks[i]);
    } else {
      first = i;
    }
  }
  finish(found);
  return found;
}

}  // namespace mirrortrain::survey
