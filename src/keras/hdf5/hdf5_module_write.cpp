// Writing HDF5, in the module that is loaded for it.
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "keras/hdf5/hdf5_handle.h"
#include "keras/hdf5/hdf5_module.h"

namespace mirrortrain::keras {
namespace {

Hdf5Handle checked(hid_t id, Hdf5Handle::Close close) {
  if (id < 0) throw Error("the HDF5 library cannot make a file of the weights in memory; is there enough of it?");
  return {id, close};
}

hid_t type_of(DType dtype, bool in_file) {
  switch (dtype) {
    case DType::kFloat32: return in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT;
    case DType::kInt32: return in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32;
    case DType::kInt64: return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    default: throw std::logic_error("weights of another type");
  }
}

/// Neither groups nor datasets have times, so that the same weights give the same bytes.
Hdf5Handle without_times(hid_t kind) {
  Hdf5Handle options = checked(H5Pcreate(kind), H5Pclose);
  H5Pset_obj_track_times(options.get(), 0);
  return options;
}

class Writer {
 public:
  Writer()
      : access_(checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose)),
        file_((H5Pset_fapl_core(access_.get(), 1 << 20, 0),
               checked(H5Fcreate("model.weights.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access_.get()), H5Fclose))),
        links_(checked(H5Pcreate(H5P_LINK_CREATE), H5Pclose)),
        group_options_(without_times(H5P_GROUP_CREATE)),
        dataset_options_(without_times(H5P_DATASET_CREATE)) {
    H5Pset_create_intermediate_group(links_.get(), 1);
  }

  Hdf5Handle group(const std::string& path) {
    if (H5Lexists(file_.get(), path.substr(0, path.find('/')).c_str(), H5P_DEFAULT) > 0 && exists(path)) {
      return checked(H5Gopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Gclose);
    }
    return checked(H5Gcreate2(file_.get(), path.c_str(), links_.get(), group_options_.get(), H5P_DEFAULT), H5Gclose);
  }

  void write_name(const std::string& path, const std::string& name) {
    const Hdf5Handle of = group(path), type = checked(H5Tcopy(H5T_C_S1), H5Tclose),
                     space = checked(H5Screate(H5S_SCALAR), H5Sclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    const Hdf5Handle attribute =
        checked(H5Acreate2(of.get(), "name", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const char* const text = name.c_str();
    if (H5Awrite(attribute.get(), type.get(), &text) < 0) checked(-1, H5Aclose);
  }

  void write(const Hdf5Dataset& tensor) {
    const std::vector<hsize_t> extents(tensor.extents, tensor.extents + tensor.rank);
    const Hdf5Handle space =
        checked(extents.empty() ? H5Screate(H5S_SCALAR)
                                : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                H5Sclose);
    const Hdf5Handle dataset = checked(H5Dcreate2(file_.get(), tensor.path, type_of(tensor.dtype, true), space.get(),
                                                  links_.get(), dataset_options_.get(), H5P_DEFAULT),
                                       H5Dclose);
    if (H5Dwrite(dataset.get(), type_of(tensor.dtype, false), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes) < 0) {
      checked(-1, H5Dclose);
    }
  }

  std::vector<std::byte> bytes() const {
    H5Fflush(file_.get(), H5F_SCOPE_LOCAL);
    const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
    if (size <= 0) checked(-1, H5Fclose);
    std::vector<std::byte> image(static_cast<std::size_t>(size));
    if (H5Fget_file_image(file_.get(), image.data(), image.size()) != size) checked(-1, H5Fclose);
    return image;
  }

 private:
  bool exists(const std::string& path) const {
    for (std::size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
      if (H5Lexists(file_.get(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
    }
    return H5Lexists(file_.get(), path.c_str(), H5P_DEFAULT) > 0;
  }

  Hdf5Handle access_, file_, links_, group_options_, dataset_options_;
};

}  // namespace
}  // namespace mirrortrain::keras

void mirrortrain_write_hdf5(std::span<const Hdf5Dataset> datasets, std::span<const Hdf5Name> names,
                            const Hdf5Taker& taker) noexcept {
  using namespace mirrortrain::keras;
  try {
    silence_hdf5();
    Writer writer;
    for (const Hdf5Name& name : names) writer.write_name(name.group, name.name);
    for (const Hdf5Dataset& dataset : datasets) writer.write(dataset);
    const std::vector<std::byte> bytes = writer.bytes();
    taker.take(taker.to, bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    taker.fail(taker.to, error.what());
  }
}
