#include "bench/plan/exchange_recorder.h"

#include <algorithm>
#include <utility>

namespace mirrortrain::plan {

void ExchangeRecorder::all_reduce(Stream&, Elements elements) {
  note(Exchange::Kind::kAllReduce, elements, static_cast<double>(elements.bytes()));
}

void ExchangeRecorder::all_to_all(Stream&, Elements elements, std::byte*) {
  note(Exchange::Kind::kAllReduce, elements, static_cast<double>(elements.bytes()));
  completes_ = elements.what;
}

void ExchangeRecorder::all_gather(Stream&, Elements elements) {
  if (!completes_.empty() && std::exchange(completes_, {}) == elements.what) return;
  note(Exchange::Kind::kAllGather, elements, static_cast<double>(elements.bytes()) / size_);
}

void ExchangeRecorder::note(Exchange::Kind kind, const Elements& elements, double bytes) {
  const auto same = std::ranges::find_if(exchanges_, [&](const Exchange& one) {
    return one.kind == kind && one.bytes == bytes && one.what == elements.what;
  });
  if (same != exchanges_.end()) {
    ++same->per_step;
  } else {
    exchanges_.push_back({kind, bytes, std::string(elements.what), 1});
  }
}

std::vector<Exchange> ExchangeRecorder::exchanges(double steps) const {
  std::vector<Exchange> all = exchanges_;
  for (Exchange& one : all) one.per_step /= steps;
  return all;
}

}  // namespace mirrortrain::plan
