#include "data/sources/data_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/document.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {

config::Section<ValidationFraction> ValidationFraction::section() {
  return config::Section<ValidationFraction>(
             "A part of the training data: the last examples, drawn ones, or one of several folds.")
      .advice("fraction", "data.validation alone takes a part of data.train; name a source, as data.train does")
      .key("fraction", &ValidationFraction::fraction, "Fraction of the training data to use for validation.",
           config::required_unless("folds", {}), config::excludes("folds"), config::greater_than(0),
           config::less_than(1), config::aliases("size, split, ratio"))
      .key("folds", &ValidationFraction::folds,
           "In place of `fraction`: into how many parts the training data are divided, of which one is for validation.",
           config::between(2, 1000), config::aliases("n_splits, k_folds, num_folds"))
      .key("fold", &ValidationFraction::fold,
           "The fold that is for validation, from 1; null: the first, and in the trials of `tune` each in turn.",
           config::at_least(1))
      .key(
          "shuffle", &ValidationFraction::shuffle,
          "Whether the examples are drawn by the seed rather than taken from the end, folds in order; null: for folds, "
          "and for image_folder, whose files are sorted by class.")
      .key(
          "stratify", &ValidationFraction::stratify,
          "Whether drawn examples have each class's share of the training data, so that a rare class is in both parts; "
          "null: where labels are classes. true draws the examples.")
      .check("fold",
             [](const ValidationFraction& part) -> std::string {
               if (!part.fold) return "";
               if (!part.folds) return "belongs to folds: {folds: 5, fold: 1}";
               return *part.fold > *part.folds ? fmt::format("there are {} folds, found {}", *part.folds, *part.fold)
                                               : "";
             })
      .check("stratify", [](const ValidationFraction& part) -> std::string {
        const bool is_from_end = part.shuffle && !*part.shuffle;
        return is_from_end && part.stratify.value_or(false)
                   ? "without shuffle the examples are taken from the end, whatever their class; remove shuffle: false"
                   : "";
      });
}

namespace {

/// An option that other splits inherit from the training data's table: it must be omitted or equal.
template <class Member>
bool differs(const Csv& train, const Csv& other, Member Csv::*member, bool is_given) {
  const auto text = [&](const Csv& csv) { return config::to_yaml(config::Codec<Member>::show(csv.*member)); };
  return is_given && text(train) != text(other);
}

template <class Optional>
std::string table_mismatch(const DataOptions& options, const Optional& split) {
  const Csv* const train = table_in(options.train.value);
  const Csv* const other = split ? table_in(*split) : nullptr;
  if (train == nullptr || other == nullptr) return "";
  const char* key = differs(*train, *other, &Csv::features, other->features.has_value()) ? "features"
                    : differs(*train, *other, &Csv::inputs, !other->inputs.empty())      ? "inputs"
                    : differs(*train, *other, &Csv::encoding, !other->encoding.empty())  ? "encoding"
                    : differs(*train, *other, &Csv::crosses, !other->crosses.empty())    ? "crosses"
                    : differs(*train, *other, &Csv::missing, other->missing.has_value()) ? "missing"
                    : differs(*train, *other, &Csv::missing_values, other->missing_values.has_value())
                        ? "missing_values"
                        : nullptr;
  if (key == nullptr) return "";
  return fmt::format("{0}: what data.train.{0} says counts for every split; leave it out here", key);
}

}  // namespace

config::Section<DataOptions> DataOptions::section() {
  return config::Section<DataOptions>("The data sets, and how they are batched and preprocessed.")
      .advice("augmentation, data_augmentation, augment",
              "list random_flip, random_crop and the like in data.preprocessing")
      .advice("normalize", "list rescaling or normalization in data.preprocessing")
      .advice("normalization", "list it in data.preprocessing")
      .advice("validation_freq, validation_steps, validation_batch_size",
              "data.validation is evaluated after each epoch, whole and in batches of data.global_batch_size; leave it "
              "out")
      .advice("sample_weight, sample_weights",
              "data.train has them: weights: COLUMN, or of one output alone weights: {OUTPUT: COLUMN}")
      .advice("prefetch, max_queue_size, use_multiprocessing",
              "examples are read ahead as fast as the steps take them; leave it out")
      .advice("test_split", "data.test names a source of its own, as data.train does; leave it out where there is none")
      .key("global_batch_size", &DataOptions::global_batch_size,
           "Number of examples per step, over all replicas together.", config::required, config::between(1, 1 << 30),
           config::aliases(
               "batch_size, batch, bs, mini_batch_size, global_batch, train_batch_size, per_device_train_batch_size"))
      .key("shuffle", &DataOptions::shuffle, "Whether to shuffle the training data before each epoch.")
      .key("drop_remainder", &DataOptions::drop_remainder,
           "Whether training drops the last batch of an epoch if it has fewer than `global_batch_size` examples.",
           config::aliases("drop_last"))
      .key("train", &DataOptions::train, "The training data.", config::required, config::aliases(kTrainAliases))
      .key("validation", &DataOptions::validation, "The validation data, evaluated after each epoch.",
           config::aliases(kValidationAliases), config::advice("true", "write validation: {fraction: 0.1}"))
      .key("test", &DataOptions::test, "The test data, evaluated at the end of training.", config::aliases("testing"))
      .key("preprocessing", &DataOptions::preprocessing,
           "Preprocessing transforms, applied in this order to every split; those that draw at random, to training "
           "alone.",
           config::aliases("transforms"))
      .key("sequences", &DataOptions::sequences,
           "How sequences of different lengths, padded at the end with 0, are computed: each batch at the steps that "
           "its longest one needs; null: all at the steps of `input_shape`.")
      .key("cache", &DataOptions::cache,
           "Where GPUs keep the examples: in their own memory if they fit (`auto`), always there (`device`), or in the "
           "host's memory (`host`).")
      .key(
          "threads", &DataOptions::threads,
          "Number of threads that decode and preprocess pictures ahead of the steps, on cores that the replicas leave; "
          "null: as many as the machine has.",
          config::at_least(1), config::aliases("num_workers, workers"))
      .key("memory", &DataOptions::memory,
           "Memory for examples, for each split: one that is larger is not held, but read from its files by position, "
           "as its examples are needed, and those that are read, decoded or preprocessed ahead, or kept for later "
           "epochs, take no more. null: a "
           "split is held whole if it takes less than half of the machine's memory, and 512MiB are for what is "
           "read ahead.")
      .key("cache_directory", &DataOptions::cache_directory,
           "Folder in which compressed files that are larger than `memory` are unpacked, once for all runs; null: in "
           "the system's temporary folder. `mirrortrain cache` lists it, and `mirrortrain cache clean` empties it.",
           config::aliases("cache_dir"))
      .key(
          "on_bad_example", &DataOptions::on_bad_example,
          "What to do about an example that cannot be used (a picture that does not decode, a record of another shape, "
          "a word or number that is no class, a cell without what it needs): end with its place (`error`), or leave it "
          "out before anything is made of the data (`skip`), with a count in the console and a list in run.log.")
      .key(
          "auto_shard", &DataOptions::auto_shard,
          "How workers share the examples: whole files each (`file`), each its part of every global batch (`data`), by "
          "files where there are as many as workers (`auto`), or not: each goes through all of them (`off`).")
      .check("validation", [](const DataOptions& options) { return table_mismatch(options, options.validation.value); })
      .check("test", [](const DataOptions& options) { return table_mismatch(options, options.test.value); })
      .check("sequences",
             [](const DataOptions& options) -> std::string {
               const bool groups = options.sequences.value && options.sequences.value->group_by_length;
               const bool deals = options.auto_shard == AutoShard::kFile || options.auto_shard == AutoShard::kOff;
               return groups && deals
                          ? fmt::format(
                                "group_by_length groups the examples of all workers, and auto_shard: {} gives each "
                                "worker its own; use auto_shard: data, or leave group_by_length out",
                                config::name_of(options.auto_shard))
                          : "";
             })
      .check("preprocessing", [](const DataOptions& options) -> std::string {
        const auto one_hots = std::count_if(options.preprocessing.begin(), options.preprocessing.end(),
                                            [](const auto& step) { return config::holds_alternative<OneHot>(step); });
        return one_hots > 1 ? "expected at most one one_hot transform, found several" : "";
      });
}

}  // namespace mirrortrain::data
