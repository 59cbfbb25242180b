#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/value.h"
#include "keras/hdf5/hdf5.h"
#include "keras/layer_names.h"
#include "keras/layer_order.h"
#include "keras/problems.h"
#include "keras/reading/convert_model.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// The inputs of a model, with the layers of preprocessing behind them as steps of `data.preprocessing`.
struct ConvertedInputs {
  std::vector<ConvertedInput> inputs;
  std::vector<config::Value> preprocessing;
  std::map<LayerCall, std::string> names;  ///< of what the other layers read, by the call that gives it
  std::set<std::string> layers;            ///< the layers that are inputs or became steps
};

/// `names`: those of the model's layers, from which inputs are named. What cannot be said is reported.
ConvertedInputs convert_inputs(const Network& network, const Hdf5Contents& weights, LayerNames& names,
                               Problems& problems);

}  // namespace mirrortrain::keras
