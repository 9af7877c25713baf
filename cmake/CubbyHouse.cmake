# The house of docs/architecture.md, enforced by the build.
#
# cubby_folder(NAME base FLOOR 0 SOURCES ... DEPS ... LIBS ...) makes one library of one folder
# under src/cubby. A folder sees the headers of the folders in DEPS (and what they use), and no
# others: every folder exports an include directory that holds a link to itself alone, so an
# include which the house does not permit does not compile. A DEPS entry must stand on a lower
# floor, except for the siblings listed in SIBLINGS.

define_property(TARGET PROPERTY CUBBY_FLOOR BRIEF_DOCS "floor of the house" FULL_DOCS "floor")

# The public headers: what a library user includes, and every folder may.
add_library(cubby_public INTERFACE)
target_include_directories(cubby_public INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(cubby_public INTERFACE absl::status absl::statusor absl::strings absl::time)
set_property(TARGET cubby_public PROPERTY EXPORT_NAME public)
set_property(GLOBAL APPEND PROPERTY CUBBY_INSTALL_TARGETS cubby_public)

function(cubby_target_name OUT FOLDER)
  string(REPLACE "/" "_" name ${FOLDER})
  set(${OUT} cubby_${name} PARENT_SCOPE)
endfunction()

function(cubby_folder)
  cmake_parse_arguments(A "" "NAME;FLOOR" "SOURCES;DEPS;SIBLINGS;LIBS;PUBLIC_LIBS" ${ARGN})
  cubby_target_name(target ${A_NAME})
  set(view ${CMAKE_BINARY_DIR}/house/${A_NAME})
  get_filename_component(parent ${view}/cubby/${A_NAME} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  if(NOT EXISTS ${view}/cubby/${A_NAME})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/cubby/${A_NAME} ${view}/cubby/${A_NAME} SYMBOLIC)
  endif()
  add_library(${target} STATIC ${A_SOURCES})
  set_property(TARGET ${target} PROPERTY CUBBY_FLOOR ${A_FLOOR})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${view}>)
  target_link_libraries(${target} PUBLIC cubby_public ${A_PUBLIC_LIBS} PRIVATE ${A_LIBS})
  foreach(dep IN LISTS A_DEPS A_SIBLINGS)
    cubby_target_name(dep_target ${dep})
    get_target_property(floor ${dep_target} CUBBY_FLOOR)
    if(NOT floor LESS A_FLOOR AND NOT dep IN_LIST A_SIBLINGS)
      message(FATAL_ERROR "${A_NAME} (floor ${A_FLOOR}) may not use ${dep} (floor ${floor})")
    endif()
    target_link_libraries(${target} PUBLIC ${dep_target})
  endforeach()
  string(REPLACE "/" "_" short ${A_NAME})
  set_property(TARGET ${target} PROPERTY EXPORT_NAME ${short})
  set_property(GLOBAL APPEND PROPERTY CUBBY_INSTALL_TARGETS ${target})
endfunction()

# cubby_test(NAME base SOURCES ... LIBS ... [LABELS ...] [FIXTURES ...] [TIMEOUT s]): one test
# program of a folder, each of whose tests is a CTest test of its own.
function(cubby_test)
  if(NOT CUBBY_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "SERIAL" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;FIXTURES" ${ARGN})
  string(REPLACE "/" "_" name ${A_NAME})
  set(target cubby_${name}_test)
  add_executable(${target} ${A_SOURCES})
  target_link_libraries(${target} PRIVATE ${A_LIBS} GTest::gmock GTest::gtest_main)
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  set(properties TIMEOUT ${A_TIMEOUT})
  if(A_LABELS)
    list(APPEND properties LABELS "${A_LABELS}")
  endif()
  if(A_FIXTURES)
    list(APPEND properties FIXTURES_REQUIRED "${A_FIXTURES}")
  endif()
  if(A_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  include(GoogleTest)
  gtest_discover_tests(${target} TEST_PREFIX "${A_NAME}/" DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
