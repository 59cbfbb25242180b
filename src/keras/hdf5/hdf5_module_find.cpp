// Finding datasets in HDF5, in the module that is loaded for it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/arrays/hdf5_module.h"
#include "keras/hdf5/hdf5_handed_over.h"
#include "keras/hdf5/hdf5_handle.h"
#include "keras/hdf5/hdf5_read_recorder.h"
#include "keras/json.h"

namespace mirrortrain::keras {
namespace {

// Bounds of what a file may ask for.
constexpr int kDeepestGroup = 64;
constexpr std::size_t kMostMembers = 1'000'000;
constexpr std::size_t kMostListed = 100;

/// Of a dataset whose description the library does not know.
const std::string kUnreadable = fmt::format(
    "HDF5 {}.{}, which this program uses, cannot read this dataset: it was written for a newer HDF5, as by h5py with "
    "libver=\"latest\", or is damaged; write it with libver=\"v110\", or without libver",
    H5_VERS_MAJOR, H5_VERS_MINOR);

herr_t refuse_external_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) { return -1; }

class Finder {
 public:
  Finder(std::string file, std::string dataset)
      : file_(std::move(file)), wanted_(std::move(dataset)), inside_(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose) {
    while (wanted_.starts_with('/')) wanted_.erase(0, 1);
    if (!inside_ || H5Pset_elink_cb(inside_.get(), refuse_external_link, nullptr) < 0) fail("", "not enough memory");
  }

  Json find(int chunks) {
#if H5_VERSION_GE(1, 14, 0)
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#else
    const Hdf5Handle access = recorded_access();
#endif
    if (!access) damaged("");
    const Hdf5Handle file(H5Fopen(file_.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file) fail("", "is no HDF5 file, or is damaged; get it again");
    const Hdf5Handle root(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose);
    if (!root) damaged("");
    list(root.get(), "", 0);
    if (is_unreadable_) fail(wanted_, kUnreadable);
    if (!is_there_) return {{"datasets", datasets_}};
    const Hdf5Handle creation(H5Fget_create_plist(file.get()), H5Pclose);
    hsize_t user_block = 0;
    if (!creation || H5Pget_userblock(creation.get(), &user_block) < 0) damaged("");
    if (user_block != 0) fail("", "has a user block, which cannot be read; copy it by h5repack");
    const Hdf5Handle dataset(H5Dopen2(file.get(), wanted_.c_str(), inside_.get()), H5Dclose);
    if (!dataset) damaged(wanted_);
    return {{"datasets", datasets_}, {"found", describe(dataset.get(), chunks)}};
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw Error(path.empty() ? fmt::format("{}: {}", file_, what) : fmt::format("{}: {}: {}", file_, path, what));
  }
  [[noreturn]] void damaged(const std::string& path) const { fail(path, "is damaged; get the file again"); }

  /// Lists the datasets. Links to other files are passed over, and so are links within the file that lead to them.
  void list(hid_t group, const std::string& path, int level) {
    if (level > kDeepestGroup) fail(path, "its groups are nested too deep");
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0) damaged(path);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++members_ > kMostMembers) fail(path, fmt::format("the file has more than {} members", kMostMembers));
      char name[1024] = {};
      if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) <= 0) {
        damaged(path);
      }
      H5L_info_t link;
      if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0) damaged(path);
      if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) continue;
      const std::string inner = path.empty() ? std::string(name) : path + "/" + name;
      const Hdf5Handle object(H5Oopen(group, name, inside_.get()), H5Oclose);
      if (!object) {
        if (!is_dataset(group, name)) continue;  // a link to nothing, or to another file
        is_unreadable_ = is_unreadable_ || inner == wanted_;
        add(inner);
        continue;
      }
      const H5I_type_t type = H5Iget_type(object.get());
      if (type == H5I_GROUP && link.type == H5L_TYPE_HARD) list(object.get(), inner, level + 1);
      if (type != H5I_DATASET) continue;
      is_there_ = is_there_ || inner == wanted_;
      add(inner);
    }
  }

  /// By the object's header alone, whether or not the library knows all that is in it.
  bool is_dataset(hid_t group, const char* name) const {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t about;
    const herr_t result = H5Oget_info_by_name3(group, name, &about, H5O_INFO_BASIC, inside_.get());
#else
    H5O_info_t about;
    const herr_t result = H5Oget_info_by_name2(group, name, &about, H5O_INFO_BASIC, inside_.get());
#endif
    return result >= 0 && about.type == H5O_TYPE_DATASET;
  }

  void add(const std::string& dataset) {
    if (datasets_.size() < kMostListed) datasets_.push_back(dataset);
  }

  /// What elements are, and of how many bytes.
  static Json element_of(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    const bool big_endian = H5Tget_order(type) == H5T_ORDER_BE;
    const auto known = [&](const char* kind) {
      return Json{{"kind", kind}, {"bytes", bytes}, {"big_endian", big_endian}};
    };
    switch (H5Tget_class(type)) {
      case H5T_INTEGER: {
        const bool is_whole = H5Tget_precision(type) == 8 * bytes && H5Tget_offset(type) == 0;
        if (!is_whole || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
          return {{"kind", "integers of odd bits"}};
        return known(H5Tget_sign(type) == H5T_SGN_2 ? "signed" : "unsigned");
      }
      case H5T_FLOAT: {
        std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
        H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
        const bool is_ieee = (bytes == 2 && exponent_bits == 5 && mantissa_bits == 10) ||
                             (bytes == 4 && exponent_bits == 8 && mantissa_bits == 23) ||
                             (bytes == 8 && exponent_bits == 11 && mantissa_bits == 52);
        return is_ieee ? known("float") : Json{{"kind", "floats other than IEEE's of 16, 32 and 64 bits"}};
      }
      case H5T_ENUM: {  // NumPy's bool is one of FALSE and TRUE
        return bytes == 1 && is_bool(type) ? known("bool") : Json{{"kind", "an enumeration"}};
      }
      case H5T_STRING: return {{"kind", "texts"}};
      case H5T_COMPOUND: return {{"kind", "records of several fields"}};
      case H5T_VLEN: return {{"kind", "lists of different lengths"}};
      case H5T_REFERENCE: return {{"kind", "references"}};
      default: return {{"kind", "no numbers"}};
    }
  }

  static bool is_bool(hid_t enumeration) {
    if (H5Tget_nmembers(enumeration) != 2) return false;
    bool has_false = false, has_true = false;
    for (unsigned member = 0; member < 2; ++member) {
      std::int8_t value = -1;
      char* const name = H5Tget_member_name(enumeration, member);
      if (name == nullptr || H5Tget_member_value(enumeration, member, &value) < 0) return false;
      has_false = has_false || (std::string_view(name) == "FALSE" && value == 0);
      has_true = has_true || (std::string_view(name) == "TRUE" && value == 1);
      H5free_memory(name);
    }
    return has_false && has_true;
  }

  Json describe(hid_t dataset, int chunks) {
    const Hdf5Handle options(H5Dget_create_plist(dataset), H5Pclose);
    if (!options) damaged(wanted_);
    // Asked first: for the extents of such a dataset the library opens the other files.
    const H5D_layout_t layout = H5Pget_layout(options.get());
    if (layout == H5D_VIRTUAL) fail(wanted_, "is made of other files' datasets; copy it into a file");
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
    if (!type || !space) damaged(wanted_);
    Json about = element_of(type.get());
    if (!about.contains("bytes")) return about;
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank < 0 || rank > H5S_MAX_RANK || H5Sis_simple(space.get()) <= 0) damaged(wanted_);
    std::vector<hsize_t> shape(static_cast<std::size_t>(rank));
    if (rank > 0 && H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr) < 0) damaged(wanted_);
    for (const hsize_t extent : shape) {
      if (extent > std::uint64_t{1} << 48) fail(wanted_, "has more elements than any disk can hold");
    }
    about["shape"] = shape;
    if (H5Pget_external_count(options.get()) > 0) fail(wanted_, "is stored in another file; copy it into this one");
    switch (layout) {
      case H5D_CONTIGUOUS: return with_offset(dataset, shape, std::move(about));
      case H5D_CHUNKED: return with_chunks(dataset, space.get(), options.get(), shape, chunks, std::move(about));
      case H5D_COMPACT: return with_bytes(dataset, type.get(), shape, chunks, std::move(about));
      default: damaged(wanted_);
    }
  }

  static std::uint64_t elements_in(const std::vector<hsize_t>& shape) {
    std::uint64_t elements = 1;
    for (const hsize_t extent : shape)
      elements = extent == 0 || elements > (std::uint64_t{1} << 62) / extent ? 0 : elements * extent;
    return elements;
  }

  Json with_offset(hid_t dataset, const std::vector<hsize_t>& shape, Json about) const {
    const haddr_t offset = H5Dget_offset(dataset);
    if (elements_in(shape) > 0 && offset == HADDR_UNDEF) fail(wanted_, "was never written: it has a shape alone");
    about["offset"] = offset == HADDR_UNDEF ? 0 : offset;
    return about;
  }

  /// Of a few bytes beside the header.
  Json with_bytes(hid_t dataset, hid_t type, const std::vector<hsize_t>& shape, int chunks, Json about) const {
    constexpr std::uint64_t kMostBytes = 1 << 16;
    const std::uint64_t bytes = elements_in(shape) * H5Tget_size(type);
    if (bytes > kMostBytes) damaged(wanted_);
    std::vector<std::byte> all(bytes);
    if (bytes > 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) damaged(wanted_);
    hand_over(chunks, all.data(), all.size());
    about["is_in_header"] = true;
    return about;
  }

  Json with_chunks(hid_t dataset, hid_t space, hid_t options, const std::vector<hsize_t>& shape, int chunks,
                   Json about) const {
    std::vector<hsize_t> chunk(shape.size());
    const int rank = H5Pget_chunk(options, static_cast<int>(chunk.size()), chunk.data());
    if (rank != static_cast<int>(shape.size()) || std::ranges::find(chunk, hsize_t{0}) != chunk.end()) damaged(wanted_);
    about["chunk"] = chunk;
    about["filters"] = Json::array();
    const int filters = H5Pget_nfilters(options);
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, of_filter = 0;
      std::size_t values = 0;
      char name[64] = "";
      const H5Z_filter_t id = H5Pget_filter2(options, static_cast<unsigned>(i), &flags, &values, nullptr,
                                             sizeof name - 1, name, &of_filter);
      if (id < 0) damaged(wanted_);
      about["filters"].push_back({{"id", static_cast<int>(id)}, {"name", name}});
    }
    std::uint64_t wanted = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::uint64_t along = (shape[axis] + chunk[axis] - 1) / chunk[axis];
      if (along != 0 && wanted > (std::uint64_t{1} << 40) / along) damaged(wanted_);
      wanted *= along;
    }
    hsize_t stored = 0;
    if (H5Dget_num_chunks(dataset, space, &stored) < 0) damaged(wanted_);
    if (stored != wanted) {
      fail(wanted_, fmt::format("of its {} chunks {} were written; write all of them", wanted, stored));
    }
    write_chunks(dataset, shape, chunk, wanted, chunks);
    return about;
  }

  void write_chunks(hid_t dataset, const std::vector<hsize_t>& shape, const std::vector<hsize_t>& chunk,
                    std::uint64_t count, int chunks) const {
    std::vector<Chunk> all(count, {HADDR_UNDEF, 0, 0});
#if H5_VERSION_GE(1, 14, 0)
    struct Places {
      const std::vector<hsize_t>&shape, &chunk;
      std::vector<Chunk>& all;
    } places{shape, chunk, all};
    const auto add = [](const hsize_t* at, unsigned left_out, haddr_t offset, hsize_t bytes, void* to) -> int {
      const auto& [shape, chunk, all] = *static_cast<Places*>(to);
      std::uint64_t number = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        number = number * ((shape[axis] + chunk[axis] - 1) / chunk[axis]) + at[axis] / chunk[axis];
      }
      if (number >= all.size() || bytes > UINT32_MAX) return H5_ITER_ERROR;
      all[number] = {offset, static_cast<std::uint32_t>(bytes), left_out};
      return H5_ITER_CONT;
    };
    if (H5Dchunk_iter(dataset, H5P_DEFAULT, add, &places) < 0) damaged(wanted_);
#else
    // This library's list of chunks takes a time that grows with their square; finding one by its index does not.
    ReadRecorder recorder;
    std::vector<hsize_t> at(shape.size(), 0);
    for (Chunk& one : all) {
      std::uint32_t left_out = 0;
      char unused = 0;
      if (H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &left_out, &unused) < 0) damaged(wanted_);
      const RecordedRead found = recorder.take();
      if (found.bytes == 0 || found.bytes > UINT32_MAX) damaged(wanted_);
      one = {found.offset, static_cast<std::uint32_t>(found.bytes), left_out};
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        at[axis] += chunk[axis];
        if (at[axis] < shape[axis]) break;
        at[axis] = 0;
      }
    }
#endif
    if (std::ranges::find(all, HADDR_UNDEF, &Chunk::offset) != all.end()) damaged(wanted_);
    hand_over(chunks, all.data(), all.size() * sizeof(Chunk));
  }

  /// As they are handed over.
  struct Chunk {
    std::uint64_t offset;
    std::uint32_t bytes, left_out;
  };

  std::string file_, wanted_;
  Hdf5Handle inside_;  ///< how paths are followed: to no other file
  std::size_t members_ = 0;
  bool is_there_ = false, is_unreadable_ = false;
  std::vector<std::string> datasets_;
};

}  // namespace
}  // namespace mirrortrain::keras

bool mirrortrain_find_hdf5_dataset(const char* file, const char* dataset, int chunks, int about) noexcept {
  using namespace mirrortrain;
  try {
    keras::silence_hdf5();
    keras::Json found;
    try {
      found = keras::Finder(file, dataset).find(chunks);
    } catch (const std::exception& error) {
      found = {{"error", error.what()}};
    }
    const std::string text = found.dump(-1, ' ', false, keras::Json::error_handler_t::replace);
    keras::hand_over(about, text.data(), text.size());
    return true;
  } catch (...) {
    return false;
  }
}
