// Reading HDF5, in the module that is loaded for it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"
#include "base/utf8.h"
#include "keras/hdf5/hdf5_handed_over.h"
#include "keras/hdf5/hdf5_handle.h"
#include "keras/hdf5/hdf5_module.h"
#include "keras/json.h"

namespace mirrortrain::keras {
namespace {

// Bounds of what a file may ask for. No model comes near them.
constexpr int kMostGroups = 64;
constexpr std::size_t kMostObjects = 1'000'000;
constexpr std::uint64_t kMostDeflated = 1032;  ///< deflate makes one byte of as many

/// Reads a file with the library, and hands over what it finds: the datasets' bytes in one memory file, and what there
/// is to know of them as JSON.
class Reader {
 public:
  Reader(std::string name, std::uint64_t bytes, int data) : name_(std::move(name)), bytes_(bytes), data_(data) {}

  /// {"datasets": {PATH: {"type": ..., "shape": [...], "offset": ...}}, "texts": {GROUP: {NAME: [...]}}}
  Json read(hid_t file) {
    const Hdf5Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose);
    if (!root) damaged("");
    read_group(root.get(), "", 0);
    return {{"datasets", std::move(datasets_)}, {"texts", std::move(texts_)}};
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw Error(fmt::format("{}: {}: {}", name_, path.empty() ? "/" : shortened(path, 200), what));
  }
  [[noreturn]] void damaged(const std::string& path) const { fail(path, "is damaged; get the file again"); }

  /// The members' names, in the order of their bytes.
  std::vector<std::string> members(hid_t group, const std::string& path) const {
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0) damaged(path);
    if (info.nlinks > kMostObjects) fail(path, fmt::format("has {} members, more than any model has", info.nlinks));
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const auto name_of = [&](char* text, std::size_t size) {
        return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_NATIVE, i, text, size, H5P_DEFAULT);
      };
      const ssize_t length = name_of(nullptr, 0);
      if (length <= 0 || length > 4096) damaged(path);
      std::string name(static_cast<std::size_t>(length) + 1, '\0');
      if (name_of(name.data(), name.size()) != length) damaged(path);
      name.pop_back();
      names.push_back(std::move(name));
    }
    std::ranges::sort(names);
    return names;
  }

  void read_group(hid_t group, const std::string& path, int level) {
    if (level > kMostGroups) fail(path, "groups are nested deeper than in any model");
    read_texts(group, path);
    for (const std::string& name : members(group, path)) {
      const std::string inner = path.empty() ? name : path + "/" + name;
      if (++objects_ > kMostObjects) fail(inner, "the file has more members than any model");
      H5L_info_t link;
      if (H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) < 0) damaged(inner);
      if (link.type != H5L_TYPE_HARD) fail(inner, "is a link to elsewhere; expected the weights in the file itself");
      const Hdf5Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
      if (!object) damaged(inner);
      const H5I_type_t type = H5Iget_type(object.get());
      if (type == H5I_GROUP) read_group(object.get(), inner, level + 1);
      if (type == H5I_DATASET) read_dataset(object.get(), inner);
    }
  }

  void read_texts(hid_t group, const std::string& path) {
    const int count = H5Aget_num_attrs(group);
    if (count < 0 || static_cast<std::size_t>(count) > kMostObjects) damaged(path);
    for (int i = 0; i < count; ++i) {
      const Hdf5Handle attribute(
          H5Aopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_NATIVE, static_cast<hsize_t>(i), H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose);
      if (!attribute) damaged(path);
      char name[256] = {};
      if (H5Aget_name(attribute.get(), sizeof name, name) < 0) damaged(path);
      if (auto texts = texts_of(attribute.get(), path)) texts_[path][name] = std::move(*texts);
    }
  }

  /// nullopt for an attribute of another type.
  std::optional<std::vector<std::string>> texts_of(hid_t attribute, const std::string& path) const {
    const Hdf5Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (!type || !space) damaged(path);
    if (H5Tget_class(type.get()) != H5T_STRING) return std::nullopt;
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    if (count < 0 || static_cast<std::size_t>(count) > kMostObjects) damaged(path);
    const auto texts = static_cast<std::size_t>(count);
    std::vector<std::string> all;
    const htri_t is_variable = H5Tis_variable_str(type.get());
    if (is_variable < 0) damaged(path);
    if (is_variable > 0) {
      const Hdf5Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(memory.get(), H5T_VARIABLE);
      H5Tset_cset(memory.get(), H5Tget_cset(type.get()));
      std::vector<char*> read(texts, nullptr);
      if (H5Aread(attribute, memory.get(), read.data()) < 0) damaged(path);
      for (const char* text : read) all.emplace_back(text != nullptr ? text : "");
      H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, read.data());
      return all;
    }
    const std::size_t size = H5Tget_size(type.get());
    if (size == 0 || size > bytes_ || texts > bytes_ / size) damaged(path);
    std::vector<char> read(size * texts);
    if (H5Aread(attribute, type.get(), read.data()) < 0) damaged(path);
    for (std::size_t i = 0; i < texts; ++i) {
      const std::string text(read.data() + i * size, size);
      all.push_back(text.substr(0, std::min(text.find('\0'), text.size())));
    }
    return all;
  }

  Shape shape_of(hid_t space, const std::string& path) const {
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > H5S_MAX_RANK || H5Sis_simple(space) <= 0) damaged(path);
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    if (rank > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) damaged(path);
    std::vector<std::int64_t> dims;
    for (const hsize_t extent : extents) {
      if (extent > std::uint64_t{1} << 40) fail(path, "has more elements than any memory can hold");
      dims.push_back(static_cast<std::int64_t>(extent));
    }
    Shape shape(dims);
    if (!shape.is_possible()) fail(path, fmt::format("{} has more elements than any memory can hold", shape.text()));
    return shape;
  }

  /// What is announced has to be in the file before memory is allocated for it.
  void require_stored(hid_t dataset, const std::string& path, std::uint64_t bytes) const {
    const Hdf5Handle options(H5Dget_create_plist(dataset), H5Pclose);
    if (!options) damaged(path);
    const H5D_layout_t layout = H5Pget_layout(options.get());
    if (layout == H5D_VIRTUAL || H5Pget_external_count(options.get()) > 0) {
      fail(path, "is stored in another file; expected the weights in the file itself");
    }
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    const bool is_compressed = H5Pget_nfilters(options.get()) > 0;
    const std::uint64_t most = std::min(stored, bytes_) * (is_compressed ? kMostDeflated : 1);
    if (bytes > most) {
      fail(path, fmt::format("announces {} bytes and has {}; the file is truncated or damaged", bytes, stored));
    }
  }

  void read_dataset(hid_t dataset, const std::string& path) {
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
    if (!type || !space) damaged(path);
    const H5T_class_t kind = H5Tget_class(type.get());
    const std::size_t size = H5Tget_size(type.get());
    // Others are no weights of a model: texts, opaque bytes.
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || size == 0 || size > 8) return;
    const Shape shape = shape_of(space.get(), path);
    const DType dtype = kind == H5T_INTEGER ? DType::kInt64 : size == 8 ? DType::kFloat64 : DType::kFloat32;
    const auto elements = static_cast<std::uint64_t>(shape.elements());
    require_stored(dataset, path, elements * size);
    std::vector<std::byte> bytes(elements * size_of(dtype));
    const hid_t memory = kind == H5T_INTEGER ? H5T_NATIVE_INT64 : size == 8 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
    if (elements > 0 && H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) damaged(path);
    datasets_[path] = {{"type", static_cast<int>(dtype)}, {"shape", shape.dims()}, {"offset", offset_}};
    hand_over(data_, bytes.data(), bytes.size());
    offset_ += bytes.size();
  }

  std::string name_;
  std::uint64_t bytes_;       ///< of the whole file
  int data_;                  ///< its descriptor
  std::uint64_t offset_ = 0;  ///< in it
  std::size_t objects_ = 0;
  Json datasets_ = Json::object(), texts_ = Json::object();
};

Hdf5Handle open(const std::string& name, const void* image, std::uint64_t bytes) {
  if (image == nullptr) return {H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (bytes == 0) return {-1, H5Fclose};
  const Hdf5Handle options(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t kIncrement = 1 << 16;
  H5Pset_fapl_core(options.get(), kIncrement, 0);
  // The library wants bytes that it could change, and takes a copy of them.
  H5Pset_file_image(options.get(), const_cast<void*>(image), bytes);
  return {H5Fopen(name.c_str(), H5F_ACC_RDONLY, options.get()), H5Fclose};
}

Json read(const std::string& name, const void* image, std::uint64_t bytes, int data) {
  silence_hdf5();
  const Hdf5Handle file = open(name, image, bytes);
  if (file) return Reader(name, bytes, data).read(file.get());
  throw Error(
      fmt::format("{}: expected an HDF5 file, found another format, or a damaged or truncated one; get the file "
                  "again",
                  name));
}

}  // namespace
}  // namespace mirrortrain::keras

bool mirrortrain_read_hdf5(const char* name, const void* image, std::uint64_t bytes, int data, int about) noexcept {
  using namespace mirrortrain;
  try {
    keras::Json found;
    try {
      found = keras::read(name, image, bytes, data);
    } catch (const Error& error) {
      found = {{"error", error.what()}};
    }
    const std::string text = found.dump(-1, ' ', true, keras::Json::error_handler_t::replace);
    keras::hand_over(about, text.data(), text.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}
