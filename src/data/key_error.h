#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "config/errors.h"

namespace mirrortrain::data {

/// An error at a key that shows only once the data are read: in the data themselves, a fraction that leaves nothing, a
/// transform that is not applicable to them.
class KeyError : public Error {
 public:
  KeyError(config::Place place, std::string path, std::string message)
      : Error((place.given() ? place.text() + ": " : "") + path + ": " + message),
        place_(std::move(place)),
        path_(std::move(path)),
        message_(std::move(message)) {}
  const config::Place& place() const { return place_; }
  const std::string& path() const { return path_; }
  /// Without the place and the key.
  const std::string& message() const { return message_; }

 private:
  config::Place place_;
  std::string path_, message_;
};

}  // namespace mirrortrain::data
