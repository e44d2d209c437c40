# make install: libraries, headers, command, man page, pkg-config files, CMake package.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY ATTN_LIBRARIES)
get_property(headers GLOBAL PROPERTY ATTN_HEADERS)
# The command, and the shared and static libraries.
install(TARGETS attn-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${libraries} EXPORT libattn-targets)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attn)
install(FILES cli/completion/attn.bash RENAME attn
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES cli/completion/attn.zsh RENAME _attn DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES cli/completion/attn.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES docs/man/attn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/attn.ja.1 RENAME attn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/ja/man1)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/libattn)
install(EXPORT libattn-targets NAMESPACE libattn:: DESTINATION ${package_dir})
configure_package_config_file(cmake/libattn-config.cmake.in libattn-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(libattn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/libattn-config.cmake
              ${PROJECT_BINARY_DIR}/libattn-config-version.cmake DESTINATION ${package_dir})

# The prefix is relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH ATTN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library libattn libattn-model)
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The Python package contains both libraries, and the headers from which it takes the declarations.
if(SKBUILD)
  foreach(library attn attn-model)
    install(TARGETS ${library} LIBRARY DESTINATION attn/_lib COMPONENT python NAMELINK_SKIP)
  endforeach()
  install(FILES ${headers} DESTINATION attn/_include COMPONENT python)
endif()
