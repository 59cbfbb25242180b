# Writes a C++ source that holds text files as strings:
#   cmake -D OUTPUT=assets.cpp -D FOLDER=src/report -P embed.cmake
set(source "// Made by embed.cmake.\n#include \"report/page/assets.h\"\n\nnamespace mirrortrain::report {\n\n")
foreach(asset kPageStyle:page/page.css kPageScript:page/page.js kPlotLibrary:third_party/dygraphs/dygraph.min.js
    kPlotLicence:third_party/dygraphs/LICENSE.txt)
  string(REPLACE ":" ";" parts ${asset})
  list(GET parts 0 name)
  list(GET parts 1 file)
  file(READ ${FOLDER}/${file} text)
  # The map is not on the page: browsers would look for it beside it.
  string(REGEX REPLACE "//# sourceMappingURL=[^\n]*\n?" "" text "${text}")
  string(APPEND source "const std::string_view ${name} = R\"asset(${text})asset\";\n\n")
endforeach()
file(WRITE ${OUTPUT} "${source}}  // namespace mirrortrain::report\n")
