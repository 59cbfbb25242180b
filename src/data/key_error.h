#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "config/errors.h"

namespace mirrortrain::data {

/// Where an error is: at a key of the configuration.
class AtKey {
 public:
  AtKey(config::Place place, std::string path, std::string message)
      : place_(std::move(place)), path_(std::move(path)), message_(std::move(message)) {}
  const config::Place& place() const { return place_; }
  const std::string& path() const { return path_; }
  /// Without the place and the key.
  const std::string& message() const { return message_; }

 protected:
  std::string text() const { return (place_.given() ? place_.text() + ": " : "") + path_ + ": " + message_; }

 private:
  config::Place place_;
  std::string path_, message_;
};

/// An error at a key that shows only once the data are read: in the data themselves, a fraction that leaves nothing, a
/// transform that is not applicable to them.
class KeyError : public AtKey, public Error {
 public:
  KeyError(config::Place place, std::string path, std::string message)
      : AtKey(std::move(place), std::move(path), std::move(message)), Error(text()) {}
};

/// An error in what one key of a source names, as an array: "inputs.user", "labels". Readers throw it.
class ErrorBelow : public Error {
 public:
  ErrorBelow(std::string key, const std::string& message) : Error(message), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// The same at its source, whose place and path it has: whoever knows where keys are written finds its own.
class KeyErrorBelow : public KeyError {
 public:
  KeyErrorBelow(config::Place place, const std::string& path, const std::string& key, std::string message)
      : KeyError(std::move(place), path, std::move(message)), own_path_(path + "." + key) {}
  const std::string& own_path() const { return own_path_; }

 private:
  std::string own_path_;
};

/// The same where the configuration is wrong: it names what the data do not have.
class WrongKey : public AtKey, public UsageError {
 public:
  WrongKey(config::Place place, std::string path, std::string message)
      : AtKey(std::move(place), std::move(path), std::move(message)), UsageError(text()) {}
};

}  // namespace mirrortrain::data
