# The libraries of the pages, from the sources that web/fetch.sh has fetched.
function(attn_web_library name folder)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${folder})
  target_compile_options(${name} PRIVATE -w -ffunction-sections -fdata-sections)
endfunction()

set(pcre2 ${ATTN_WEB_SOURCES}/pcre2/src)
set(own ${CMAKE_CURRENT_BINARY_DIR}/pcre2)
configure_file(${pcre2}/pcre2.h.generic ${own}/pcre2.h COPYONLY)
configure_file(${pcre2}/config.h.generic ${own}/config.h COPYONLY)
configure_file(${pcre2}/pcre2_chartables.c.dist ${own}/pcre2_chartables.c COPYONLY)
set(parts auto_possess compile config context error extuni find_bracket jit_compile maketables match match_data newline ord2utf
    script_run string_utils study tables ucd valid_utf xclass)
list(TRANSFORM parts PREPEND ${pcre2}/pcre2_)
list(TRANSFORM parts APPEND .c)
attn_web_library(PCRE2 ${own} ${parts} ${own}/pcre2_chartables.c)
target_include_directories(PCRE2 PRIVATE ${pcre2})
target_compile_definitions(PCRE2 PRIVATE HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 SUPPORT_PCRE2_8 SUPPORT_UNICODE
                           HAVE_MEMMOVE HAVE_STRERROR PUBLIC PCRE2_STATIC)

attn_web_library(UTF8PROC ${ATTN_WEB_SOURCES}/utf8proc ${ATTN_WEB_SOURCES}/utf8proc/utf8proc.c)
target_compile_definitions(UTF8PROC PUBLIC UTF8PROC_STATIC)

set(jansson ${ATTN_WEB_SOURCES}/jansson)
set(parts dump error hashtable hashtable_seed load memory pack_unpack strbuffer strconv utf value)
list(TRANSFORM parts PREPEND ${jansson}/src/)
list(TRANSFORM parts APPEND .c)
file(CONFIGURE OUTPUT jansson/jansson_private_config.h CONTENT "#define INITIAL_HASHTABLE_ORDER 3\n")
attn_web_library(JANSSON ${jansson}/src ${parts})
target_include_directories(JANSSON PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/jansson)
target_include_directories(JANSSON SYSTEM PUBLIC ${jansson}/android) # jansson_config.h of a libc without localeconv
target_compile_definitions(JANSSON PRIVATE HAVE_STDINT_H HAVE_UNISTD_H HAVE_SYS_TYPES_H)

set(zlib ${ATTN_WEB_SOURCES}/zlib)
set(parts adler32 crc32 deflate trees zutil)
list(TRANSFORM parts PREPEND ${zlib}/)
list(TRANSFORM parts APPEND .c)
attn_web_library(ZLIB ${zlib} ${parts})
