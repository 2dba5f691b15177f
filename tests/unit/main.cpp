// The entry of the unit tests. Catch2 3 brings its own main as a library; Catch2 2 makes it here.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#endif
#include "tests/unit/catch.hpp"
