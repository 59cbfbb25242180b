# `cmake --install` and `cpack -G DEB`: the program on the PATH, its man page and completions, the example configurations.
include(GNUInstallDirs)

install(TARGETS mirrortrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET mirrortrain_hdf5)
  install(TARGETS mirrortrain_hdf5 LIBRARY DESTINATION lib/mirrortrain)
endif()

if(TARGET mirrortrain_parquet)
  install(TARGETS mirrortrain_parquet LIBRARY DESTINATION lib/mirrortrain COMPONENT parquet)
  if(MIRRORTRAIN_ARROW_LIBRARIES)
    # pip's libraries are in no package that a Debian package could depend on, so that it is made without the module.
    set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};mirrortrain;Unspecified;/")
  endif()
endif()

# From the declarations of the commands, by the program itself.
set(usage ${CMAKE_BINARY_DIR}/usage)
install(CODE "
  file(MAKE_DIRECTORY \"${usage}\")
  foreach(kind man bash zsh)
    execute_process(COMMAND \"$<TARGET_FILE:mirrortrain>\" usage \${kind} OUTPUT_FILE \"${usage}/\${kind}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(FILES ${usage}/man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME mirrortrain.1)
install(FILES ${usage}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mirrortrain)
install(FILES ${usage}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _mirrortrain)

install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/mirrortrain)
install(DIRECTORY data/bookshop data/diamonds data/fashion-mnist-small data/fashion-pairs data/garden-birds data/penguins
  data/shakespeare data/synthetic-reviews data/tiny-shapes data/waves
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mirrortrain/data)
install(FILES data/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/mirrortrain/data)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES src/report/third_party/dygraphs/LICENSE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.dygraphs)
install(FILES src/onnx/third_party/LICENSE.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.onnx)
foreach(library grpc protobuf absl)  # which the program holds as archives, see archives.cmake
  if(EXISTS /usr/share/doc/lib${library}-dev/copyright)
    install(FILES /usr/share/doc/lib${library}-dev/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright.${library})
  endif()
endforeach()
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})  # README.md links to docs/

set(CPACK_PACKAGE_NAME mirrortrain)
set(CPACK_PACKAGE_CONTACT "mirrortrain <mirrortrain@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains neural networks described in YAML on all devices of a machine")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package.cmake)
include(CPack)
