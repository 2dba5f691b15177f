#pragma once
// What the shared library shows of itself: everything else in it, its own or of the libraries inside it, is hidden, so
// that it meets nothing of the same name in the host.
#define TALC_API __attribute__((visibility("default")))
#define TALC_LOCAL __attribute__((visibility("hidden")))
