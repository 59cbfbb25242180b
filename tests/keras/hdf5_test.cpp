#include "keras/hdf5/hdf5.h"

#include <doctest/doctest.h>

#include <cstring>

#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

const std::vector<float> kNumbers = {1.5f, -2, 0.1f, 4, 5, 6};

std::vector<std::byte> some_file() {
  const auto data = std::as_bytes(std::span(kNumbers));
  return keras::write_hdf5({{"layers/dense/vars/0", DType::kFloat32, {2, 3}, data},
                            {"layers/dense/vars/1", DType::kFloat32, {}, data.first(4)}},
                           {{"layers/dense/vars", "größe"}});
}

}  // namespace

TEST_CASE("datasets and names of groups come back as they were written") {
  const keras::Hdf5Contents read = keras::read_hdf5(some_file(), "x.h5");
  REQUIRE(read.datasets.size() == 2);
  const StoredTensor& kernel = read.datasets.at("layers/dense/vars/0");
  CHECK(kernel.shape == Shape{2, 3});
  CHECK(std::memcmp(kernel.data.data(), kNumbers.data(), 24) == 0);
  CHECK(read.datasets.at("layers/dense/vars/1").shape == Shape{});
  CHECK(read.text("layers/dense/vars", "name") == "größe");
  CHECK(read.text("layers", "name").empty());
}

TEST_CASE("the same weights give the same bytes") { CHECK(some_file() == some_file()); }

TEST_CASE("what is no HDF5 is an error that names the file") {
  const std::string text(100, 'x');
  const std::string error = error_text([&] { keras::read_hdf5(std::as_bytes(std::span(text)), "a.h5"); });
  CHECK(error.find("a.h5: expected an HDF5 file") != error.npos);
  CHECK(error_text([&] { keras::read_hdf5(std::span<const std::byte>(), "a.h5"); }).find("a.h5") != error.npos);
  CHECK(error_text([&] { keras::read_hdf5(std::filesystem::path("/nowhere/a.h5")); }).find("/nowhere/a.h5") !=
        error.npos);
}

TEST_CASE("a truncated file is an error, wherever it ends") {
  const std::vector<std::byte> whole = some_file();
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    CAPTURE(size);
    const std::string error = error_text([&] { keras::read_hdf5(std::span(whole).first(size), "a.h5"); });
    CHECK(error.find("a.h5") != error.npos);
  }
}
