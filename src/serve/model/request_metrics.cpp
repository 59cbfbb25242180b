#include "serve/model/request_metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace mirrortrain {
namespace {

/// A label's value, with what Prometheus escapes.
std::string escaped(const std::string& text) {
  std::string to;
  for (const char c : text) {
    if (c == '\\' || c == '"') to += '\\';
    to += c == '\n' ? ' ' : c;
  }
  return to;
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

class Page {
 public:
  explicit Page(const std::string& model) : model_(escaped(model)) {}
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <class Value>
  void add(Value value, const std::string& labels = "", std::string_view suffix = "") {
    fmt::format_to(std::back_inserter(text_), "{}{}{{model=\"{}\"{}}} {}\n", name_, suffix, model_, labels, value);
  }
  template <class Value>
  void add(std::string_view name, std::string_view type, std::string_view help, Value value) {
    begin(name, type, help);
    add(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string model_, text_;
  std::string_view name_;
};

}  // namespace

void RequestMetrics::add_answered(std::int64_t examples, std::chrono::nanoseconds time) {
  ++requests_;
  examples_ += examples;
  nanoseconds_ += time.count();
  for (std::size_t i = 0; i < kSeconds.size(); ++i) {
    if (seconds(time.count()) <= kSeconds[i]) ++within_[i];
  }
}

void RequestMetrics::add_refused(int status) {
  if (status == kServersFault) {
    ++failed_;
    return;
  }
  const std::lock_guard lock(mutex_);
  ++refused_[status];
}

std::string RequestMetrics::text(const std::string& model, std::int64_t step, const BatcherCounts& batches) const {
  Page page(model);
  page.add("mirrortrain_requests_total", "counter", "Requests for predictions that were answered.", requests_.load());
  page.begin("mirrortrain_refused_requests_total", "counter", "Requests that were refused, by the status of HTTP.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [status, count] : refused_) page.add(count, fmt::format(",code=\"{}\"", status));
  }
  page.add("mirrortrain_failed_requests_total", "counter", "Requests that could not be answered by the server's fault.",
           failed_.load());
  page.add("mirrortrain_examples_total", "counter", "Examples in answered requests.", examples_.load());
  page.begin("mirrortrain_request_seconds", "histogram", "Time from a whole request to its answer.");
  for (std::size_t i = 0; i < kSeconds.size(); ++i) {
    page.add(within_[i].load(), fmt::format(",le=\"{}\"", kSeconds[i]), "_bucket");
  }
  page.add(requests_.load(), ",le=\"+Inf\"", "_bucket");
  page.add(seconds(nanoseconds_), "", "_sum");
  page.add(requests_.load(), "", "_count");
  page.add("mirrortrain_batches_total", "counter", "Batches that were computed.", batches.batches.load());
  page.add("mirrortrain_batch_examples_total", "counter", "Examples in these batches.", batches.rows.load());
  page.add("mirrortrain_compute_seconds_total", "counter", "Time in which batches were computed.",
           seconds(batches.compute_nanoseconds));
  page.add("mirrortrain_queue_seconds_total", "counter", "Time that requests waited for their batch, together.",
           seconds(batches.queue_nanoseconds));
  page.add("mirrortrain_queued_requests", "gauge", "Requests that wait for their batch.", batches.waiting.load());
  page.add("mirrortrain_weights_step", "gauge", "Training step of the weights; 0 if unknown.", step);
  page.add("mirrortrain_weights_reloads_total", "counter", "Times that changed weights were read.", reloads_.load());
  page.add("mirrortrain_weights_failed_reloads_total", "counter", "Times that changed weights could not be read.",
           failed_reloads_.load());
  return page.take();
}

}  // namespace mirrortrain
