#include "data/loading/read_split.h"

#include <fmt/format.h>

#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/utf8.h"
#include "data/loading/open_source.h"
#include "data/records/sample_classes.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// Encodes a table independently of the training data.
Examples encoded_by_itself(const Csv& source, CsvTable table, const Adapted& adapted) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Adapted own{adapted.classes, adapted_table(table, source, rows)};
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    if (table.label_words[i].empty() || !own.classes_of(table.outputs[i].name).empty()) continue;
    throw Error(fmt::format("{}: expected numbers as labels, as in the training data, found the word '{}'",
                            table.outputs[i].array.row_text(0), shortened(table.label_words[i].front())));
  }
  return encoded(std::move(table), own);
}

Examples read_table_of(const Csv& source, const Adapted& adapted, BadExamples* bad, const Terms& terms) {
  CsvTable table = table_of(source, {&adapted, true, bad}, terms.holding, terms.threads);
  if (adapted.table) return encoded(std::move(table), adapted, bad);
  return encoded_by_itself(source, std::move(table), adapted);
}

/// Reads windows of a split other than train, which must have train's vocabulary.
Examples read_windows_of(const Text& source, const Adapted& adapted, const Terms& terms) {
  TokenWindows windows = windows_of(source, terms);
  const std::vector<std::string>& known = adapted.classes_of("");
  if (!known.empty() && windows.tokens != known) {
    throw Error(
        fmt::format("{}: expected the vocabulary of the training data, {} tokens, found {}; give every split "
                    "the same vocabulary",
                    source.vocabulary ? source.vocabulary->text : windows.examples.inputs.front().array.origin,
                    known.size(), source.vocabulary ? fmt::format("another of {}", windows.tokens.size()) : "bytes"));
  }
  return std::move(windows.examples);
}

template <class AnySource>
Dataset read_source(const AnySource& source, const AdaptedLater& adapted, const Terms& terms) {
  BadExamples bad = terms.gather();
  return std::visit(
      [&](const auto& held) -> Dataset {
        using Format = std::decay_t<decltype(held)>;
        if constexpr (is_table<Format>) {
          Examples examples = read_table_of(held, adapted(), bad.if_skips(), terms);
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, ImageFolder>) {
          Examples examples =
              find_pictures(held, picture_labels(&adapted().classes_of(""), terms), bad.if_skips()).examples;
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, Text>) {
          return usable(read_windows_of(held, adapted(), terms), terms.wanted, std::move(bad));
        } else if constexpr (requires { open(held); }) {
          return usable(opened(held, terms), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, TfRecord>) {
          Examples examples = records_of(held, bad, terms);
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, WebDataset>) {
          const SampleLabels labels{&adapted().classes_of(""), terms.wants_numbers(0)};
          Examples examples = open_classed_samples(held, labels, bad.if_skips(), terms.holding.unpacked).examples;
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (requires { read(held); }) {
          return usable(read(held), terms.wanted, std::move(bad));
        } else {
          throw Error("a part of train is no source of its own");
        }
      },
      source);
}

}  // namespace

std::optional<Dataset> read_split(const std::optional<Source>& source, const AdaptedLater& adapted,
                                  const Terms& terms) {
  return source ? std::optional(read_source(*source, adapted, terms)) : std::nullopt;
}

std::optional<Dataset> read_split(const std::optional<Validation>& source, const AdaptedLater& adapted,
                                  const Terms& terms) {
  return source ? std::optional(read_source(*source, adapted, terms)) : std::nullopt;
}

}  // namespace mirrortrain::data
