# The house: every folder of src/ is a room, an object library that is given
# only the include paths of the rooms below it. A wrong include does not compile.

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
add_library(JANSSON ALIAS PkgConfig::JANSSON)
add_library(UTF8PROC ALIAS PkgConfig::UTF8PROC)
add_library(PNG ALIAS PkgConfig::PNG)

# What every translation unit of the project is compiled with.
add_library(attn_flags INTERFACE)
target_compile_definitions(attn_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
# No contraction: a * b + c is fused only where the code says so, on every compiler.
target_compile_options(attn_flags INTERFACE -ffp-contract=off -ffunction-sections -fdata-sections)
if(ATTN_STRICT)
  target_compile_options(attn_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow
                         -Wstrict-prototypes -Wmissing-prototypes -Werror)
endif()
if(ATTN_SANITIZE)
  target_compile_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE})
  # For micro-kernels: unrolled, these checks of each access take clang up to half a minute a file.
  # AddressSanitizer checks the same accesses.
  set(ATTN_UNROLLED -fno-sanitize=alignment,null,object-size,pointer-overflow)
endif()
if(ATTN_COVERAGE)
  target_compile_options(attn_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(attn_flags INTERFACE --coverage)
endif()

# What users run must do with a stack of 64 KiB (tests/cli/test_outputs.py): no frame takes a third of
# it. Sanitizers make frames larger, and tests may have what they like.
add_library(attn_frames INTERFACE)
if(ATTN_STRICT AND NOT ATTN_SANITIZE)
  target_compile_options(attn_frames INTERFACE -Wframe-larger-than=20480)
endif()

# attn_room(NAME SOURCES file... [SEES room...] [LINKS target...])
function(attn_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;SEES;LINKS" ${ARGN})
  add_library(room_${name} OBJECT ${ROOM_SOURCES})
  target_include_directories(room_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  foreach(seen ${ROOM_SEES})
    target_include_directories(room_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/${seen})
  endforeach()
  target_link_libraries(room_${name} PRIVATE attn_flags attn_frames ${ROOM_LINKS})
endfunction()

# attn_use_rooms(TARGET room...): a program over the rooms' objects, internals included.
function(attn_use_rooms target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  foreach(room ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:room_${room}>)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/${room})
  endforeach()
endfunction()

# attn_library(NAME HEADERS h... ROOMS room... [COPIES room...] LINKS target...)
# makes the shared and the static library. COPIES are rooms of libattn that the
# shared library holds a hidden copy of; the static one finds them in libattn.a.
function(attn_library name)
  cmake_parse_arguments(LIB "" "" "HEADERS;ROOMS;COPIES;LINKS" ${ARGN})
  list(TRANSFORM LIB_ROOMS REPLACE "(.+)" "$<TARGET_OBJECTS:room_\\1>")
  list(TRANSFORM LIB_COPIES REPLACE "(.+)" "$<TARGET_OBJECTS:room_\\1>")
  add_library(${name} SHARED ${LIB_ROOMS} ${LIB_COPIES})
  add_library(${name}_static STATIC ${LIB_ROOMS})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} LINKER_LANGUAGE C
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # until 1.0
                        BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  foreach(library ${name} ${name}_static)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:attn_flags>)
  endforeach()
  # nodelete: the pool's threads outlive dlclose, and so must their code.
  target_link_options(${name} PRIVATE LINKER:-z,nodelete LINKER:--as-needed LINKER:--gc-sections)
  if(NOT ATTN_SANITIZE) # the program brings a sanitizer's runtime
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
  target_link_libraries(${name} PRIVATE ${LIB_LINKS})
  list(TRANSFORM LIB_LINKS REPLACE "^attn$" "attn_static")
  target_link_libraries(${name}_static PRIVATE ${LIB_LINKS})
  set_property(GLOBAL APPEND PROPERTY ATTN_LIBRARIES ${name} ${name}_static)
  list(TRANSFORM LIB_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/attn/)
  set_property(GLOBAL APPEND PROPERTY ATTN_HEADERS ${LIB_HEADERS})
endfunction()
