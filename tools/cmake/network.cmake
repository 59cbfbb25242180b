# Decides which ways between processes are built: gRPC (control and parameters), gloo (sums between CPUs of several machines)
# and MPI (the same, where mpirun or srun starts the processes). Each is optional; NAME is GRPC, GLOO and MPI in
#   MIRRORTRAIN_WITH_NAME    whether it is built
#   MIRRORTRAIN_NAME_ABSENT  why not
option(MIRRORTRAIN_NETWORK "Build for several machines too, with what is found of gRPC, gloo and MPI" ON)

foreach(name GRPC GLOO MPI)
  set(MIRRORTRAIN_WITH_${name} OFF)
  set(MIRRORTRAIN_${name}_ABSENT "it was built with MIRRORTRAIN_NETWORK=OFF")
endforeach()
if(MIRRORTRAIN_NETWORK)
  find_package(Protobuf QUIET)
  find_package(gRPC CONFIG QUIET)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin)
  mark_as_advanced(GRPC_CPP_PLUGIN)
  find_package(OpenSSL QUIET)  # which gRPC uses
  if(gRPC_FOUND AND OPENSSL_FOUND AND Protobuf_FOUND AND Protobuf_PROTOC_EXECUTABLE AND GRPC_CPP_PLUGIN)
    set(MIRRORTRAIN_WITH_GRPC ON)
  else()
    set(MIRRORTRAIN_GRPC_ABSENT "it was built without gRPC (libgrpc++-dev, libssl-dev and protobuf-compiler-grpc)")
  endif()
  find_package(Gloo CONFIG QUIET)
  if(TARGET gloo)
    set(MIRRORTRAIN_WITH_GLOO ON)
  else()
    set(MIRRORTRAIN_GLOO_ABSENT "it was built without gloo (libgloo-dev)")
  endif()
  set(MPI_CXX_SKIP_MPICXX ON)  # the C functions are all that is used
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(MIRRORTRAIN_WITH_MPI ON)
    # The compiler wrapper links the C++ bindings whether they are used or not.
    get_target_property(libraries MPI::MPI_CXX INTERFACE_LINK_LIBRARIES)
    list(FILTER libraries EXCLUDE REGEX "mpi_cxx")
    set_target_properties(MPI::MPI_CXX PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  else()
    set(MIRRORTRAIN_MPI_ABSENT "it was built without MPI (libopenmpi-dev)")
  endif()
endif()
foreach(name GRPC GLOO MPI)
  if(NOT MIRRORTRAIN_WITH_${name})
    message(STATUS "No ${name}: ${MIRRORTRAIN_${name}_ABSENT}")
  endif()
endforeach()

# mirrortrain_protos(target a.proto b.proto): messages and services of the target, included as "rpc/a.grpc.pb.h" where the file
# lies in src/rpc.
function(mirrortrain_protos target)
  foreach(proto ${ARGN})
    get_filename_component(path ${proto} ABSOLUTE)
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR}/src ${path})
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    set(out ${CMAKE_BINARY_DIR}/generated)
    set(made ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
    file(MAKE_DIRECTORY ${out})
    add_custom_command(OUTPUT ${made}
      COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${CMAKE_SOURCE_DIR}/src --cpp_out=${out} --grpc_out=${out}
        --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${path}
      DEPENDS ${path} VERBATIM)
    target_sources(${target} PRIVATE ${made})
    set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS "-w")
    target_include_directories(${target} SYSTEM PRIVATE ${out})
  endforeach()
endfunction()
