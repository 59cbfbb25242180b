#include "data/preprocessing/binning.h"

#include <algorithm>
#include <string>

#include "data/preprocessing/quantiles.h"

namespace mirrortrain::data {
namespace {

const auto kBinCount = config::between(1, 1 << 24);  // the numbers that float32 has exactly

}  // namespace

config::Section<Binning> Binning::section() {
  return config::Section<Binning>("A transform that puts numbers into bins.")
      .key(
          "output_mode", &Binning::output_mode,
          "`int`: the bin's number, from 0, which an `embedding` may look up. `one_hot`: a vector with a 1 at the bin, "
          "in place of the last axis if that has one number, else behind it. `multi_hot`: one vector of the numbers "
          "along the first axis, with a 1 at each of their bins. `count`: the same with how many are in each bin.")
      .include<OfInput>();
}

std::int64_t Discretization::bins() const {
  return bin_boundaries.value ? std::ssize(*bin_boundaries.value) + 1 : most_quantile_bins(num_bins.value_or(1));
}

config::Section<Discretization> Discretization::section() {
  return config::Section<Discretization>(
             "Puts each number into the bin between two boundaries: the number of boundaries that are not larger.")
      .key("bin_boundaries", &Discretization::bin_boundaries,
           "The boundaries, ascending. [0, 1, 2] makes four bins: below 0, [0, 1), [1, 2), and from 2 on.",
           config::required_unless("num_bins", {}), config::non_empty, config::aliases("bins, edges, boundaries"))
      .key("num_bins", &Discretization::num_bins,
           "In place of `bin_boundaries`: how many bins of about equally many numbers of the training data, after the "
           "transforms before this one. Their boundaries are kept in the run folder.",
           config::excludes("bin_boundaries"), kBinCount, config::aliases("n_bins"))
      .key("epsilon", &Discretization::epsilon,
           "With `num_bins`: how exact the boundaries are, as a share of the numbers. 0.01 takes a hundred numbers at "
           "equal distances, between which boundaries lie.",
           config::between(1e-7, 1))
      .check("bin_boundaries",
             [](const Discretization& step) -> std::string {
               const bool ascend = !step.bin_boundaries.value || std::ranges::is_sorted(*step.bin_boundaries.value);
               return ascend ? "" : "expected numbers that ascend; sort them";
             })
      .check("epsilon",
             [](const Discretization& step) -> std::string {
               const bool is_given = step.epsilon != Discretization().epsilon;
               if (!step.bin_boundaries.value || !is_given) return "";
               return "is for boundaries that are adapted to the training data; leave it out, or give num_bins in "
                      "place of bin_boundaries";
             })
      .include<Binning>();
}

config::Section<Hashing> Hashing::section() {
  return config::Section<Hashing>(
             "Puts each whole number into a bin by a hash of its decimal digits, such as ids of which there are many. "
             "Of other numbers the part before the point counts. Words of a csv have `encoding: {COLUMN: {hashing: "
             "...}}`.")
      .key("num_bins", &Hashing::num_bins, "Number of bins.", config::required, kBinCount,
           config::aliases("bins, n_bins, num_buckets, hash_bucket_size"))
      .key("mask_value", &Hashing::mask_value, "A number that has bin 0 for itself; null: none has.")
      .key(
          "salt", &Hashing::salt,
          "Without it the hash is farmhash's Fingerprint64. A number, or a list of two, makes it SipHash-2-4 with that "
          "key.")
      .include<Binning>();
}

Shape shape_after_bins(BinOutput output, std::int64_t bins, const Shape& example) {
  if (output == BinOutput::kInt) return example;
  std::vector<std::int64_t> dims = example.dims();
  if (output != BinOutput::kOneHot) {
    if (!dims.empty()) dims.erase(dims.begin());
  } else if (!dims.empty() && dims.back() == 1) {
    dims.pop_back();
  }
  dims.push_back(bins);
  return Shape(std::move(dims));
}

}  // namespace mirrortrain::data
