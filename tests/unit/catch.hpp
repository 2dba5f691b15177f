#pragma once
// Catch2, of either major version.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#define TALC_CATCH_MAJOR 3
#else
#define CATCH_CONFIG_FAST_COMPILE
#include <catch2/catch.hpp>
#define TALC_CATCH_MAJOR 2
#endif
