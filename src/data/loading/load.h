#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "config/errors.h"
#include "data/bad_examples.h"
#include "data/dataset.h"
#include "data/key_error.h"
#include "data/loading/model_fit.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// NoneUsable, of the source at a key.
class NoneUsableAt : public KeyError {
 public:
  NoneUsableAt(config::Place place, std::string path, const NoneUsable& error)
      : KeyError(std::move(place), std::move(path), error.what()), left_(error.left_out()) {}
  const LeftOut& left_out() const { return left_; }

 private:
  LeftOut left_;
};

/// Calls `read`; adds the place and the key of the split to its errors.
template <class LocatedSource, class Read>
auto at_its_place(const LocatedSource& source, const Read& read) {
  try {
    return read();
  } catch (const UsageError&) {
    throw;
  } catch (const KeyError&) {
    throw;
  } catch (const ErrorBelow& error) {
    if (!source.place.given()) throw;
    throw KeyErrorBelow(source.place, source.path, error.key(), error.what());
  } catch (const NoneUsable& error) {
    if (!source.place.given()) throw;
    throw NoneUsableAt(source.place, source.path, error);
  } catch (const Error& error) {
    if (!source.place.given()) throw;
    throw KeyError(source.place, source.path, error.what());
  }
}

struct Splits {
  Dataset train;
  std::optional<Dataset> validation, test;
  Adapted adapted;
};

/// Reads all splits, concurrently: into memory, or, of what is larger than `memory` says, to be read by position.
/// `seed`: for drawing a part of train. `spec`: the model's requirements, which define bad examples; null if there is
/// no model. Throws Error for data that are missing or broken.
Splits load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec);

enum class Split { kTrain, kValidation, kTest };

/// train, validation or test
const char* name_of(Split split);
/// The error for a split that the configuration does not have, with those that it has.
std::string missing_text(const DataOptions& options, Split split);

/// The key of an existing split of the configuration.
struct SplitKey {
  config::Place place;
  std::string path;
};
SplitKey key_of(const DataOptions& options, Split split);

/// Whether reading a split needs values adapted to the training data.
bool needs_adapted(const DataOptions& options, Split split);

/// Whether the validation data are a part of the training data.
bool is_drawn_from_train(const DataOptions& options, Split split);

struct LoadedSplit {
  Dataset dataset;
  Adapted adapted;
};

/// Reads one split, for an evaluation; nullopt if the configuration has none. `adapted`: as kept by a run; null if
/// there is none, so that the training data are read too if other splits depend on them. Throws KeyError for data that
/// are missing or broken.
std::optional<LoadedSplit> load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec, Split split,
                                const Adapted* adapted);

}  // namespace mirrortrain::data
