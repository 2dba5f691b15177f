#pragma once
// The threads of the process, one for each core, shared by all engines. Started by the first work that is worth it.
#include <cstdint>
#include <functional>

namespace talc {

// Runs body(begin, end) over pieces of [0, count), each at least `grain` long (the last may be shorter). Returns when all
// have run; the first exception of a piece is thrown on. The caller works along. From inside a piece, or while another
// caller uses the threads, everything runs on the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace talc
