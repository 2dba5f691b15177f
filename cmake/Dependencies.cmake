# Outside libraries, each as an interface target talc_lib_NAME. Static archives are preferred wherever they exist.
# `./dev setup` installs all of them.

# talc_archive(NAME HEADER header ARCHIVE stem): a C library of the system.
function(talc_archive name)
  cmake_parse_arguments(ARG "" "HEADER;ARCHIVE" "" ${ARGN})
  find_path(TALC_${name}_INCLUDE ${ARG_HEADER})
  find_library(TALC_${name}_LIBRARY NAMES lib${ARG_ARCHIVE}.a ${ARG_ARCHIVE})
  if(NOT TALC_${name}_INCLUDE OR NOT TALC_${name}_LIBRARY)
    message(FATAL_ERROR "${ARG_ARCHIVE} (${ARG_HEADER}) is missing; ./dev setup installs it")
  endif()
  add_library(talc_lib_${name} INTERFACE)
  target_include_directories(talc_lib_${name} SYSTEM INTERFACE ${TALC_${name}_INCLUDE})
  target_link_libraries(talc_lib_${name} INTERFACE ${TALC_${name}_LIBRARY})
endfunction()

# talc_headers(NAME HEADER header): a library of headers only.
function(talc_headers name)
  cmake_parse_arguments(ARG "" "HEADER" "" ${ARGN})
  find_path(TALC_${name}_INCLUDE ${ARG_HEADER})
  if(NOT TALC_${name}_INCLUDE)
    message(FATAL_ERROR "${ARG_HEADER} is missing; ./dev setup installs it")
  endif()
  add_library(talc_lib_${name} INTERFACE)
  target_include_directories(talc_lib_${name} SYSTEM INTERFACE ${TALC_${name}_INCLUDE})
endfunction()

talc_archive(xxhash HEADER xxhash.h ARCHIVE xxhash)
talc_archive(utf8proc HEADER utf8proc.h ARCHIVE utf8proc)
talc_archive(pcre2 HEADER pcre2.h ARCHIVE pcre2-8)
target_compile_definitions(talc_lib_pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8)
talc_headers(json HEADER nlohmann/json.hpp)
talc_headers(cli11 HEADER CLI/CLI.hpp)

# fmt. Debian has it as a shared library and as headers only. The headers cost seconds in every source file and the
# shared library costs start-up, so one file here holds the inline functions and the others only call them.
talc_headers(fmt HEADER fmt/format.h)
file(WRITE ${CMAKE_BINARY_DIR}/generated/fmt_functions.cpp.new
     "#define FMT_HEADER_ONLY 1\n#include <fmt/format.h>\n#include <fmt/compile.h>\n")
file(COPY_FILE ${CMAKE_BINARY_DIR}/generated/fmt_functions.cpp.new ${CMAKE_BINARY_DIR}/generated/fmt_functions.cpp
     ONLY_IF_DIFFERENT)
add_library(talc_fmt STATIC ${CMAKE_BINARY_DIR}/generated/fmt_functions.cpp)
target_compile_options(talc_fmt PRIVATE -fkeep-inline-functions)
target_include_directories(talc_fmt SYSTEM PUBLIC ${TALC_fmt_INCLUDE})
target_link_libraries(talc_lib_fmt INTERFACE talc_fmt)

# LLVM's component archives, never the shared libLLVM.
find_package(LLVM 19.1 CONFIG PATHS /usr/lib/llvm-19 /usr/local/lib/llvm-19)
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "LLVM 19.1 is missing; ./dev setup installs it")
endif()
llvm_map_components_to_libnames(TALC_LLVM_LIBRARIES orcjit passes native irreader)
add_library(talc_lib_llvm INTERFACE)
target_include_directories(talc_lib_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(talc_lib_llvm INTERFACE ${TALC_LLVM_LIBRARIES})
# LLVMSupport names the shared zlib and zstd; their archives do as well.
get_target_property(TALC_SUPPORT_LINKS LLVMSupport INTERFACE_LINK_LIBRARIES)
foreach(pair ZLIB::ZLIB=libz.a zstd::libzstd_shared=libzstd.a)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 shared)
  list(GET pair 1 archive)
  find_library(TALC_ARCHIVE_${archive} NAMES ${archive})
  if(TALC_ARCHIVE_${archive})
    list(TRANSFORM TALC_SUPPORT_LINKS REPLACE ${shared} ${TALC_ARCHIVE_${archive}})
  endif()
endforeach()
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${TALC_SUPPORT_LINKS}")

# The line editor of the interactive prompt; without it the prompt reads plain lines. An installed one wins, then the
# sources that `./dev setup` unpacked.
set(TALC_REPLXX_SOURCE ${CMAKE_BINARY_DIR}/replxx CACHE PATH "folder of the sources of replxx")
add_library(talc_lib_replxx INTERFACE)
find_path(TALC_replxx_INCLUDE replxx.hxx)
find_library(TALC_replxx_LIBRARY NAMES libreplxx.a replxx)
if(TALC_replxx_INCLUDE AND TALC_replxx_LIBRARY)
  target_include_directories(talc_lib_replxx SYSTEM INTERFACE ${TALC_replxx_INCLUDE})
  target_link_libraries(talc_lib_replxx INTERFACE ${TALC_replxx_LIBRARY})
  target_compile_definitions(talc_lib_replxx INTERFACE TALC_HAVE_REPLXX=1)
elseif(EXISTS ${TALC_REPLXX_SOURCE}/include/replxx.hxx)
  file(GLOB TALC_REPLXX_FILES ${TALC_REPLXX_SOURCE}/src/*.cpp ${TALC_REPLXX_SOURCE}/src/*.cxx)
  add_library(talc_replxx STATIC ${TALC_REPLXX_FILES})
  target_include_directories(talc_replxx SYSTEM PUBLIC ${TALC_REPLXX_SOURCE}/include)
  target_compile_definitions(talc_replxx PUBLIC REPLXX_STATIC)
  target_link_libraries(talc_lib_replxx INTERFACE talc_replxx)
  target_compile_definitions(talc_lib_replxx INTERFACE TALC_HAVE_REPLXX=1)
endif()
