#pragma once

#include <utility>

namespace mirrortrain {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  void close();

 private:
  int value_ = -1;
};

/// A pipe that is closed on exec. Throws Error.
struct Pipe {
  Descriptor read, write;
  Pipe();
};

/// Makes reads and writes return at once.
void make_nonblocking(const Descriptor& descriptor);

/// Opens /dev/null for each standard stream that is closed at the start: otherwise a pipe would get its number.
void fill_standard_streams();

}  // namespace mirrortrain
