#pragma once
// Included first by files whose loops are to become vector code: exceptions flags and errno of the C library's math
// are no part of our semantics, and honouring them would keep such loops scalar. Values are the same.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math")
#endif
