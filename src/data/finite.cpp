// Numbers of dataset.h that are not finite.
#include "data/finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/usable_cores.h"
#include "data/in_threads.h"
#include "data/kept_findings.h"
#include "data/reading_progress.h"
#include "data/row_blocks.h"

namespace mirrortrain::data {
namespace {

// Block by block: the loop over a block has no early exit, so that it is vectorized.
template <class T>
std::int64_t first_unfit(std::span<const T> elements) {
  constexpr std::size_t kBlock = 4096;
  for (std::size_t begin = 0; begin < elements.size(); begin += kBlock) {
    const auto block = elements.subspan(begin, std::min(kBlock, elements.size() - begin));
    int unfit = 0;
    for (const T value : block) unfit += !fits_float(value);
    if (unfit == 0) continue;
    const auto found = std::find_if_not(block.begin(), block.end(), fits_float<T>);
    return static_cast<std::int64_t>(begin) + (found - block.begin());
  }
  return -1;
}

}  // namespace

namespace {

/// The first row that first_unfit(rows) finds in blocks of rows that are not in memory, read by several threads; -1:
/// none.
template <class FirstUnfit>
std::int64_t first_unfit_block(const Array& array, std::int64_t from, const FirstUnfit& unfit) {
  const std::int64_t together = rows_of_block(array), rows = array.rows();
  const auto blocks = static_cast<std::size_t>((rows - from + together - 1) / together);
  std::vector<std::int64_t> in_block(blocks, -1);
  ReadingProgress progress("checking the numbers of " + array.origin,
                           static_cast<std::uint64_t>(rows) * array.row_bytes());
  const std::thread::id caller = std::this_thread::get_id();  // the progress is of one thread
  const std::size_t found = in_threads(blocks, std::ssize(usable_cores()), [&](std::size_t i) {
    thread_local std::vector<std::byte> scratch;
    const std::int64_t first = from + static_cast<std::int64_t>(i) * together;
    if (std::this_thread::get_id() == caller) progress.show(static_cast<std::uint64_t>(first) * array.row_bytes());
    const std::int64_t count = std::min(together, rows - first);
    in_block[i] = unfit(array.rows_at(first, count, scratch), count);
    return in_block[i] < 0;
  });
  return found < blocks ? from + static_cast<std::int64_t>(found) * together + in_block[found] : -1;
}

/// Whether all numbers of the same files were seen to be finite before.
bool is_known_finite(const std::string& identity) {
  const auto kept = kept_finding("finite", identity);
  return kept && kept->is_boolean() && kept->get<bool>();
}

}  // namespace

std::int64_t find_not_finite(const Array& array, std::int64_t from) {
  return with_element_type(array.dtype, [&](auto* type) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (!std::is_integral_v<T>) {
      const std::int64_t width = array.row_elements();
      const auto first_row = [&](std::span<const T> elements) {
        const std::int64_t found = first_unfit(elements);
        return found < 0 ? -1 : found / width;
      };
      if (!array.is_by_position()) {
        const std::span<const T> elements = array.span<T>();
        const std::int64_t found = first_row(elements.subspan(static_cast<std::size_t>(from * width)));
        return found < 0 ? -1 : from + found;
      }
      if (array.stored->are_finite()) return -1;
      const std::string identity = from == 0 ? array.stored->identity() : "";
      if (!identity.empty() && is_known_finite(identity)) return -1;
      const std::int64_t found = first_unfit_block(array, from, [&](const std::byte* rows, std::int64_t count) {
        return first_row({reinterpret_cast<const T*>(rows), static_cast<std::size_t>(count * width)});
      });
      if (!identity.empty() && found < 0 && array.stored->identity() == identity) {
        keep_finding("finite", identity, true);
      }
      return found;
    }
    return -1;
  });
}

std::string not_finite_text(const Array& array, std::int64_t row) {
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<std::byte> scratch;
    const std::span<const T> elements = elements_of_row<T>(array, row, scratch);
    const auto found = static_cast<double>(*std::ranges::find_if_not(elements, fits_float<T>));
    return fmt::format("{}: found {} where a finite number was expected; {}", array.row_text(row), found,
                       std::isfinite(found) ? "float32 holds numbers up to 3.4e38: divide them by a constant"
                                            : "remove or replace such values");
  });
}

void require_finite(const Array& array) {
  const std::int64_t row = find_not_finite(array);
  if (row >= 0) throw Error(not_finite_text(array, row));
}

namespace {

bool is_nan(const Array& array, std::int64_t row) {
  return with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    std::vector<std::byte> scratch;
    return std::ranges::any_of(elements_of_row<T>(array, row, scratch),
                               [](T number) { return std::isnan(static_cast<double>(number)); });
  });
}

}  // namespace

void require_finite(const Labels& labels) {
  const Array& array = labels.array;
  const std::int64_t row = find_not_finite(array);
  if (row < 0) return;
  const std::size_t named = array.origin.rfind(".npz: ");
  const bool is_npz = named != std::string::npos, is_array = is_npz || array.origin.ends_with(".npy");
  if (!is_array || labels.present || !is_nan(array, row)) throw Error(not_finite_text(array, row));
  const std::string where =
      is_npz ? fmt::format("array: {}", array.origin.substr(named + 6)) : std::string("file: FILE");
  const std::string one = fmt::format("{{{}, missing: ignore}}", where);
  throw Error(fmt::format("{}; where NaN is a missing label, write labels: {}", not_finite_text(array, row),
                          labels.name.empty() ? one : fmt::format("{{{}: {}}}", labels.name, one)));
}

}  // namespace mirrortrain::data
