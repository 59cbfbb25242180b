# What cpack reads before it makes a package: one without its dependencies would be installed and not start.
foreach(tool dpkg-shlibdeps file)
  find_program(path_of_${tool} ${tool})
  if(CPACK_GENERATOR STREQUAL "DEB" AND NOT path_of_${tool})
    message(FATAL_ERROR "the libraries that the package depends on are found by dpkg-shlibdeps and file; "
                        "apt-get install dpkg-dev file")
  endif()
endforeach()
