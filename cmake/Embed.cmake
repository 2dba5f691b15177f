# Library modules written in Talc itself become part of the binary.

# talc_embed(ROOM): the ROOM's .tc files, as the rows of ROOM/embedded.hpp.
function(talc_embed room)
  set(folder ${CMAKE_SOURCE_DIR}/${room})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.tc)
  get_target_property(type talc_${room} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  set(output ${CMAKE_BINARY_DIR}/generated/${room}_embedded.cpp)
  # The list itself is an input: a file that is gone must go from the binary too.
  list(JOIN files "\n" listing)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${room}_embedded.txt CONTENT "${listing}" @ONLY)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOM=${room} -DFOLDER=${folder} -DLISTING=${CMAKE_BINARY_DIR}/generated/${room}_embedded.txt
            -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${files} ${CMAKE_BINARY_DIR}/generated/${room}_embedded.txt ${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake
    COMMENT "Embedding the Talc files of ${room}")
  target_sources(talc_${room} PRIVATE ${output})
endfunction()

# talc_unicode_names(ROOM): the table of ROOM/text/unicode_names.hpp.
function(talc_unicode_names room)
  get_target_property(type talc_${room} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(output ${CMAKE_BINARY_DIR}/generated/unicode_names.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tools/unicode_names.py ${output}
    DEPENDS ${CMAKE_SOURCE_DIR}/tools/unicode_names.py
    COMMENT "Writing the names of Unicode's characters")
  target_sources(talc_${room} PRIVATE ${output})
endfunction()
