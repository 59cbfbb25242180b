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

# mirrortrain_messages(target a.proto): messages of the target, included as "onnx/a.pb.h" where the file lies in src/onnx.
function(mirrortrain_messages target)
  foreach(proto ${ARGN})
    get_filename_component(path ${proto} ABSOLUTE)
    get_filename_component(sources ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../src ABSOLUTE)
    file(RELATIVE_PATH relative ${sources} ${path})
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    set(out ${CMAKE_BINARY_DIR}/generated)
    set(made ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    file(MAKE_DIRECTORY ${out})
    add_custom_command(OUTPUT ${made}
      COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${sources} --cpp_out=${out} ${path}
      DEPENDS ${path} VERBATIM)
    target_sources(${target} PRIVATE ${made})
    set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS "-w")
    target_include_directories(${target} SYSTEM PRIVATE ${out})
  endforeach()
endfunction()
