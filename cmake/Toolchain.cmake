# Compiler, linker and the flags of our own code.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS")

# What every object gets, ours or not. Hidden visibility keeps the library's inside out of a host's symbol table.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
add_compile_options(-ffunction-sections -fdata-sections -fno-plt)
# Every product and every sum rounds: the same results on every machine, and CPython's to the last digit.
add_compile_options(-ffp-contract=off)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

find_program(MOLD_PROGRAM NAMES mold)
find_program(LLD_PROGRAM NAMES ld.lld)
if(CMAKE_CROSSCOMPILING)
  # A cross compiler finds its own linker alone.
elseif(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
elseif(LLD_PROGRAM)
  add_link_options(-fuse-ld=lld)
endif()

if(TALC_SANITIZE)
  add_compile_options(-fsanitize=${TALC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TALC_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # A program that asks the machine for nothing but its C library starts faster and runs on any machine. (A library
  # shares the C++ library with its host: exceptions cross from one to the other.)
  set(TALC_PROGRAM_LINK_OPTIONS -static-libstdc++ -static-libgcc)
endif()

# talc_ours(TARGET): warnings and include paths of the code of this repository.
function(talc_ours target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wno-invalid-offsetof)  # offsetof: heap objects inherit a header
  if(NOT TALC_SANITIZE)  # instrumented code makes GCC see uninitialised values that are none
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
endfunction()
