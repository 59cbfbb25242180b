# Writes a C++ source that holds text files as strings, for embed.cmake.
set(source "// Made by write_embedded.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
string(REPLACE "," ";" assets "${ASSETS}")
foreach(asset ${assets})
  string(REPLACE ":" ";" parts ${asset})
  list(GET parts 0 name)
  list(GET parts 1 file)
  file(READ ${FOLDER}/${file} text)
  # A script's map is not on the page: browsers would look for it beside it.
  string(REGEX REPLACE "//# sourceMappingURL=[^\n]*\n?" "" text "${text}")
  string(APPEND source "const std::string_view ${name} = R\"asset(${text})asset\";\n\n")
endforeach()
file(WRITE ${OUTPUT} "${source}}  // namespace ${NAMESPACE}\n")
