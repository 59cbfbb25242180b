#include "bench/plan/exchange_recorder.h"

#include <algorithm>
#include <utility>

namespace mirrortrain::plan {

void ExchangeRecorder::all_reduce(Stream&, Elements elements) {
  note(Exchange::Kind::kAllReduce, elements, static_cast<double>(elements.bytes()));
}

void ExchangeRecorder::all_to_all(Stream&, Elements elements, std::byte*) {
  note(Exchange::Kind::kScatter, elements, static_cast<double>(elements.bytes()));
}

void ExchangeRecorder::all_gather(Stream&, Elements elements) {
  note(Exchange::Kind::kAllGather, elements, static_cast<double>(elements.bytes()) / size_);
}

void ExchangeRecorder::note(Exchange::Kind kind, const Elements& elements, double bytes) {
  const auto same = std::ranges::find_if(exchanges_, [&](const Exchange& one) {
    return one.kind == kind && one.bytes == bytes && one.what == elements.what;
  });
  if (same != exchanges_.end()) {
    ++same->per_step;
  } else {
    exchanges_.push_back({kind, bytes, std::string(elements.what), 1, along_});
  }
}

std::vector<Exchange> ExchangeRecorder::exchanges(double steps) const {
  const auto is_of = [this](Exchange::Kind kind, const std::string& what) {
    return std::ranges::any_of(exchanges_, [&](const Exchange& one) { return one.kind == kind && one.what == what; });
  };
  std::vector<Exchange> all;
  for (Exchange one : exchanges_) {
    if (one.kind == Exchange::Kind::kAllGather && is_of(Exchange::Kind::kScatter, one.what)) continue;
    if (one.kind == Exchange::Kind::kScatter && is_of(Exchange::Kind::kAllGather, one.what)) {
      one.kind = Exchange::Kind::kAllReduce;
    }
    one.per_step /= steps;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace mirrortrain::plan
