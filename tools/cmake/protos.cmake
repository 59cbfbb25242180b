include_guard()

# mirrortrain_protos(target [SERVICES] a.proto b.proto): messages, and with SERVICES also gRPC's services, of the target, included
# as "rpc/a.pb.h" and "rpc/a.grpc.pb.h" where the file lies in src/rpc.
function(mirrortrain_protos target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SERVICES" "" "")
  get_filename_component(sources ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../src ABSOLUTE)
  set(out ${CMAKE_BINARY_DIR}/generated)
  foreach(proto ${ARG_UNPARSED_ARGUMENTS})
    get_filename_component(path ${proto} ABSOLUTE)
    file(RELATIVE_PATH relative ${sources} ${path})
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    set(made ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(services)
    if(ARG_SERVICES)
      list(APPEND made ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      set(services --grpc_out=${out} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    file(MAKE_DIRECTORY ${out})
    add_custom_command(OUTPUT ${made}
      COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${sources} --cpp_out=${out} ${services} ${path}
      DEPENDS ${path} VERBATIM)
    target_sources(${target} PRIVATE ${made})
    set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS "-w")
    target_include_directories(${target} SYSTEM PRIVATE ${out})
  endforeach()
endfunction()
