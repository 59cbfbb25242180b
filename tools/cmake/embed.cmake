# mirrortrain_embed(target HEADER header.h NAMESPACE name ASSETS NAME:FILE...): text files as strings of the target, which the
# header declares as `extern const std::string_view NAME`.
function(mirrortrain_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "HEADER;NAMESPACE" "ASSETS")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/assets.cpp)
  set(files)
  foreach(asset ${ARG_ASSETS})
    string(REGEX REPLACE "^[^:]*:" "" file ${asset})
    list(APPEND files ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  list(JOIN ARG_ASSETS "," assets)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${source} -D FOLDER=${CMAKE_CURRENT_SOURCE_DIR} -D HEADER=${ARG_HEADER}
            -D NAMESPACE=${ARG_NAMESPACE} -D ASSETS=${assets} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_embedded.cmake
    DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_embedded.cmake ${files}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
