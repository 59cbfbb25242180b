// Versions: of the program, of the system, of libraries.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/version.h"
#include "doctor/doctor.h"
#include "kernels/cpu/versions.h"

namespace mirrortrain::doctor {
namespace {

/// The distribution's name from its os-release file.
std::string name_of_system(const std::filesystem::path& root) {
  std::ifstream file(root / "etc/os-release");
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    if (line.size() > 1 && line.starts_with('"')) line = line.substr(1, line.size() - 2);
    return line;
  }
  return "unknown: no /etc/os-release";
}

struct Library {
  std::string name;
  std::string file;     ///< what its file's name begins with
  const char* version;  ///< the function that returns it; null: the file's name has it
  bool is_built;        ///< whether this build has what needs it
  std::string needed_for;
  std::string package;  ///< of Debian, with its development files; empty: every build has it
};

std::vector<Library> libraries() {
  return {
      {"oneDNN", "libdnnl.so", nullptr, true, "", ""},
      {"OpenMP", "libgomp.so", nullptr, true, "", ""},
      {"zlib", "libz.so", "zlibVersion", true, "", ""},
      {"libzip", "libzip.so", "zip_libzip_version", true, "", ""},
      {"libpng", "libpng16.so", nullptr, true, "", ""},
      {"libjpeg", "libjpeg.so", nullptr, true, "", ""},
      {"gRPC", "libgrpc++.so", nullptr, MIRRORTRAIN_WITH_GRPC, "several machines", "libgrpc++-dev"},
      {"gloo", "libgloo.so", nullptr, MIRRORTRAIN_WITH_GLOO, "sums between CPUs of several machines", "libgloo-dev"},
      {"MPI", "libmpi", "MPI_Get_library_version", MIRRORTRAIN_WITH_MPI, "runs started by mpirun", "libopenmpi-dev"},
      {"protobuf", "libprotobuf.so", nullptr, MIRRORTRAIN_WITH_ONNX, "export to ONNX",
       "libprotobuf-dev protobuf-compiler"},
      {"libmicrohttpd", "libmicrohttpd.so", "MHD_get_version", MIRRORTRAIN_WITH_HTTP, "serve", "libmicrohttpd-dev"},
      {"libwebp", "libwebp.so", nullptr, MIRRORTRAIN_WITH_WEBP, "pictures in WebP", "libwebp-dev"},
      {"giflib", "libgif.so", nullptr, MIRRORTRAIN_WITH_GIF, "pictures in GIF", "libgif-dev"},
      {"libtiff", "libtiff.so", "TIFFGetVersion", MIRRORTRAIN_WITH_TIFF, "pictures in TIFF", "libtiff-dev"},
      {"zstd", "libzstd.so", "ZSTD_versionString", MIRRORTRAIN_WITH_ZSTD, "data compressed by zstd", "libzstd-dev"},
  };
}

/// Libraries that load with a module of this program when they are needed.
struct Module {
  std::string name, file, library;
  bool is_built;
  std::string needed_for, remedy;
};

std::vector<Module> modules() {
  return {{"HDF5", "libmirrortrain_hdf5.so", "libhdf5", MIRRORTRAIN_WITH_HDF5, "Keras's files and data in HDF5",
           "install libhdf5-dev and build again"},
          {"Arrow", "libmirrortrain_parquet.so", "libarrow.so", MIRRORTRAIN_WITH_PARQUET, "data in Parquet",
           "install Arrow (pip install pyarrow) and build again"}};
}

/// The loaded library's file with symbolic links resolved, which often has the version in its name.
std::optional<std::string> file_of(const std::vector<std::string>& loaded, const std::string& beginning) {
  for (const std::string& file : loaded) {
    const std::filesystem::path path(file);
    if (!path.filename().string().starts_with(beginning)) continue;
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path, none);
    return none ? file : real.string();
  }
  return std::nullopt;
}

Finding look_at(const Library& library, const Surroundings& surroundings) {
  Finding finding{"libraries", library.name};
  if (!library.is_built) {
    finding.value = fmt::format("not in this build; needed for {}", library.needed_for);
    finding.remedy = fmt::format("install {} and build again, if you need it", library.package);
    return finding;
  }
  std::string version = library.version != nullptr ? surroundings.version_by(library.version) : "";
  if (library.name == "oneDNN") version = cpu::onednn_version();
  const std::string file = file_of(surroundings.loaded(), library.file).value_or("part of the executable");
  finding.value = version.empty() ? file : fmt::format("{}, {}", version, file);
  return finding;
}

Finding look_at(const Module& module, const Surroundings& surroundings) {
  Finding finding{"libraries", module.name};
  if (!module.is_built) {
    finding.value = fmt::format("not in this build; needed for {}", module.needed_for);
    finding.remedy = fmt::format("{}, if you need it", module.remedy);
    return finding;
  }
  const std::string error = surroundings.module_error(module.file.c_str());
  if (error.empty()) {
    finding.value = file_of(surroundings.loaded(), module.library).value_or("part of " + module.file);
    return finding;
  }
  finding.value = "does not load; needed for " + module.needed_for;
  finding.problem = error;
  finding.remedy = fmt::format(
      "put {} and the library that it needs where the linker finds them (beside the executable, "
      "or in LD_LIBRARY_PATH), or {}",
      module.file, module.remedy);
  return finding;
}

}  // namespace

Findings examine_program(const Surroundings& surroundings) {
  utsname system{};
  ::uname(&system);
  return {
      {"program", "mirrortrain", fmt::format("{}, {} build by GCC {}", kVersion, MIRRORTRAIN_BUILD_TYPE, __VERSION__)},
      {"program", "system", name_of_system(surroundings.root)},
      {"program", "kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"program", "C library", fmt::format("glibc {}", ::gnu_get_libc_version())}};
}

Findings examine_libraries(const Surroundings& surroundings) {
  Findings findings;
  for (const Library& library : libraries()) findings.push_back(look_at(library, surroundings));
  for (const Module& module : modules()) findings.push_back(look_at(module, surroundings));
  return findings;
}

}  // namespace mirrortrain::doctor
