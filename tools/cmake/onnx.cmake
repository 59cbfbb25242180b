# Decides whether files of ONNX can be written: protobuf compiles ONNX's own schema. Optional; sets
#   MIRRORTRAIN_WITH_ONNX    whether it is built
#   MIRRORTRAIN_ONNX_ABSENT  why not
option(MIRRORTRAIN_ONNX "Build the export to ONNX too, where protobuf is found" ON)

set(MIRRORTRAIN_WITH_ONNX OFF)
set(MIRRORTRAIN_ONNX_ABSENT "it was built with MIRRORTRAIN_ONNX=OFF")
if(MIRRORTRAIN_ONNX)
  find_package(Protobuf QUIET)
  if(Protobuf_FOUND AND Protobuf_PROTOC_EXECUTABLE)
    set(MIRRORTRAIN_WITH_ONNX ON)
  else()
    set(MIRRORTRAIN_ONNX_ABSENT "it was built without protobuf (libprotobuf-dev and protobuf-compiler)")
  endif()
endif()
if(NOT MIRRORTRAIN_WITH_ONNX)
  message(STATUS "No ONNX: ${MIRRORTRAIN_ONNX_ABSENT}")
endif()

include(protos)
