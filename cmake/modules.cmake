# Every folder of src/ is a module: an object library with the include paths of its declared
# dependencies and of nothing else. An include that is not declared does not compile.

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH ATTN_ROOT)

# For tests: gold links a program in half the time, and the sanitizers' runtimes in a third.
add_library(attn_quick_links INTERFACE)
find_program(ATTN_GOLD ld.gold)
if(ATTN_GOLD)
  target_link_options(attn_quick_links INTERFACE -fuse-ld=gold)
endif()

# Flags of every translation unit.
add_library(attn_flags INTERFACE)
target_compile_definitions(attn_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
# No contraction: a * b + c is fused only by an explicit fma, on every compiler.
target_compile_options(attn_flags INTERFACE -ffp-contract=off -ffunction-sections -fdata-sections)
if(ATTN_STRICT)
  target_compile_options(attn_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow
                         -Wstrict-prototypes -Wmissing-prototypes -Werror)
endif()
if(ATTN_SANITIZE)
  target_compile_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(attn_flags INTERFACE -fsanitize=${ATTN_SANITIZE})
  target_link_libraries(attn_flags INTERFACE attn_quick_links)
  # For micro-kernels: unrolled, these checks of each access take clang up to half a minute a file.
  # AddressSanitizer checks the same accesses. An option of source files, which comes after the -fsanitize of the target.
  set(ATTN_UNROLLED -fno-sanitize=null,object-size,pointer-overflow)
  # Wide vectors: AddressSanitizer calls a function for each access. They are compiled in half the time, and run longer.
  set(ATTN_CALLED ${ATTN_UNROLLED})
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND ATTN_CALLED -mllvm -asan-instrumentation-with-call-threshold=0)
  endif()
  # The code of the scalar kernel, in which alignment is checked.
  set(ATTN_SHARED ${ATTN_CALLED} -fno-sanitize=alignment)
endif()
if(ATTN_COVERAGE)
  target_compile_options(attn_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(attn_flags INTERFACE --coverage)
endif()

# The libraries and the command run on a stack of 64 KiB (tests/cli/test_outputs.py): no frame takes a
# third of it. Tests are exempt, and so are sanitizers, which enlarge frames.
add_library(attn_frames INTERFACE)
if(ATTN_STRICT AND NOT ATTN_SANITIZE)
  target_compile_options(attn_frames INTERFACE -Wframe-larger-than=20480)
endif()

# attn_grant_includes(TARGET module...): the module's folder and its subfolders.
function(attn_grant_includes target)
  foreach(module ${ARGN})
    file(GLOB parts LIST_DIRECTORIES true ${ATTN_ROOT}/src/${module}/*)
    foreach(part ${ATTN_ROOT}/src/${module} ${parts})
      if(IS_DIRECTORY ${part})
        target_include_directories(${target} PRIVATE ${part})
      endif()
    endforeach()
  endforeach()
endfunction()

# attn_module(NAME SOURCES file... [DEPENDS module...] [LINKS target...])
function(attn_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  add_library(module_${name} OBJECT ${MODULE_SOURCES})
  target_include_directories(module_${name} PRIVATE ${ATTN_ROOT}/include)
  attn_grant_includes(module_${name} ${name} ${MODULE_DEPENDS})
  target_link_libraries(module_${name} PRIVATE attn_flags attn_frames ${MODULE_LINKS})
  set_target_properties(module_${name} PROPERTIES ATTN_LINKS "${MODULE_LINKS}")
endfunction()

# attn_embed(TARGET HEADER file...): a header with each file as a string: page.css is page_css.
function(attn_embed target header)
  set(content "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" name ${name})
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "??" "?\\?" text "${text}") # no trigraphs
    string(REPLACE "\n" "\\n\"\n\"" text "${text}")
    string(APPEND content "static const char ${name}[] =\n\"${text}\";\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${header} CONTENT "${content}")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# attn_embed_catalog(TARGET): ja_po.h, the Japanese of po/ja.po as the elements of an array: strings of PO files are strings of C.
function(attn_embed_catalog target)
  set(catalog ${ATTN_ROOT}/po/ja.po)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalog})
  file(READ ${catalog} entries)
  string(REGEX REPLACE "\n#[^\n]*" "" entries "\n${entries}")
  string(REPLACE "\nmsgid " "},\n{" entries "${entries}")
  string(REPLACE "\nmsgstr " ",\n" entries "${entries}")
  string(REGEX REPLACE "^[^{]*},\n" "" entries "${entries}}")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/ja_po.h CONTENT "${entries}\n")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# attn_use_modules(TARGET module...): links a program with the modules' objects and with what they
# link, and gives it their internal headers.
function(attn_use_modules target)
  target_include_directories(${target} PRIVATE ${ATTN_ROOT}/include)
  attn_grant_includes(${target} ${ARGN})
  foreach(module ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:module_${module}>)
    get_target_property(links module_${module} ATTN_LINKS)
    target_link_libraries(${target} PRIVATE ${links})
  endforeach()
endfunction()

# attn_library(NAME HEADERS h... MODULES module... [COPIES module...] LINKS target...)
# builds the shared and the static library. COPIES are modules of libattn of which the shared library
# has a hidden copy; the static one finds them in libattn.a.
function(attn_library name)
  cmake_parse_arguments(LIB "" "" "HEADERS;MODULES;COPIES;LINKS" ${ARGN})
  list(TRANSFORM LIB_MODULES REPLACE "(.+)" "$<TARGET_OBJECTS:module_\\1>")
  list(TRANSFORM LIB_COPIES REPLACE "(.+)" "$<TARGET_OBJECTS:module_\\1>")
  add_library(${name} SHARED ${LIB_MODULES} ${LIB_COPIES})
  add_library(${name}_static STATIC ${LIB_MODULES})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} LINKER_LANGUAGE C
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} # until 1.0
                        BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  foreach(library ${name} ${name}_static)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${ATTN_ROOT}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:attn_flags>)
  endforeach()
  # nodelete: the threads of the pool outlive dlclose, so their code must stay loaded.
  target_link_options(${name} PRIVATE LINKER:-z,nodelete LINKER:--as-needed LINKER:--gc-sections)
  if(NOT ATTN_SANITIZE) # the executable provides the sanitizer runtime
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
  target_link_libraries(${name} PRIVATE ${LIB_LINKS})
  list(TRANSFORM LIB_LINKS REPLACE "^attn$" "attn_static")
  target_link_libraries(${name}_static PRIVATE ${LIB_LINKS})
  set_property(GLOBAL APPEND PROPERTY ATTN_LIBRARIES ${name} ${name}_static)
  list(TRANSFORM LIB_HEADERS PREPEND ${ATTN_ROOT}/include/attn/)
  set_property(GLOBAL APPEND PROPERTY ATTN_HEADERS ${LIB_HEADERS})
endfunction()
