# What other programs use: the shared library, its headers, and how CMake and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# talc_shared_library(TARGET LIBRARY archive NAME name): the archive's objects once more, as lib NAME.so. Of LLVM and the
# other archives inside it nothing shows: a host may have its own.
function(talc_shared_library target)
  cmake_parse_arguments(ARG "" "LIBRARY;NAME" "" ${ARGN})
  set(script ${CMAKE_SOURCE_DIR}/cmake/talc.map)
  get_target_property(objects ${ARG_LIBRARY} SOURCES)
  get_target_property(links ${ARG_LIBRARY} LINK_LIBRARIES)
  add_library(${target} SHARED ${objects})
  target_link_libraries(${target} PRIVATE ${links})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${script} -Wl,-z,now)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${ARG_NAME} EXPORT_NAME ${ARG_NAME}
                        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${script})
endfunction()

# talc_install(PROGRAM program LIBRARY shared library): both, the headers, the package.
function(talc_install)
  cmake_parse_arguments(ARG "" "PROGRAM;LIBRARY" "" ${ARGN})
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/talc)
  install(TARGETS ${ARG_PROGRAM} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS ${ARG_LIBRARY} EXPORT talcTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/talc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h*")
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  install(EXPORT talcTargets NAMESPACE talc:: DESTINATION ${package})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/talcConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/talcConfig.cmake
                                INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/talcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/generated/talcConfig.cmake ${CMAKE_BINARY_DIR}/generated/talcConfigVersion.cmake
          DESTINATION ${package})

  # Relative, so that an installed tree can be moved.
  file(RELATIVE_PATH TALC_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/talc.pc.in ${CMAKE_BINARY_DIR}/generated/talc.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/talc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
