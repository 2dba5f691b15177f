#include "inductor/cuda/scatter.hpp"

#include <bit>

#include <fmt/format.h>

#include "inductor/cuda/expressions.hpp"

namespace talc::inductor::cuda {

int64_t key_count(int64_t rows) {
    return std::max(kSortedBlock, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))));
}

bool keys_fit(int64_t rows, int64_t place_count) {
    int64_t most = 0;
    return !__builtin_mul_overflow(rows, place_count, &most);
}

std::string sort_program() {
    return R"cuda(
typedef long long i64;
typedef unsigned long long u64;
constexpr int kBlock = 2048;  // keys of a block, twice its threads

extern "C" __global__ void make_keys(u64* keys, const i64* places, i64 rows, i64 count) {
    for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        keys[i] = i < rows ? static_cast<u64>(places[i]) * rows + i : ~0ull;
    }
}
__device__ inline void order(u64& a, u64& b, bool up) {
    if ((a > b) == up) {
        u64 c = a;
        a = b;
        b = c;
    }
}
// The steps of one run length that fit into a block, on keys that lie there.
__device__ inline void inside(u64* own, i64 first, i64 run, int distance) {
    #pragma unroll 1
    for (; distance > 0; distance /= 2) {
        __syncthreads();
        int at = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
        order(own[at], own[at + distance], ((first + at) & run) == 0);
    }
    __syncthreads();
}
extern "C" __global__ void __launch_bounds__(1024) sort_blocks(u64* keys) {
    __shared__ u64 own[kBlock];
    i64 first = blockIdx.x * i64{kBlock};
    for (int i = threadIdx.x; i < kBlock; i += 1024) own[i] = keys[first + i];
    #pragma unroll 1
    for (int run = 2; run <= kBlock; run *= 2) inside(own, first, run, run / 2);
    for (int i = threadIdx.x; i < kBlock; i += 1024) keys[first + i] = own[i];
}
extern "C" __global__ void merge(u64* keys, i64 pairs, i64 run, i64 distance) {
    for (i64 t = blockIdx.x * 256ll + threadIdx.x; t < pairs; t += gridDim.x * 256ll) {
        i64 at = 2 * t - (t & (distance - 1));
        order(keys[at], keys[at + distance], (at & run) == 0);
    }
}
extern "C" __global__ void __launch_bounds__(1024) merge_blocks(u64* keys, i64 run) {
    __shared__ u64 own[kBlock];
    i64 first = blockIdx.x * i64{kBlock};
    for (int i = threadIdx.x; i < kBlock; i += 1024) own[i] = keys[first + i];
    inside(own, first, run, kBlock / 2);
    for (int i = threadIdx.x; i < kBlock; i += 1024) keys[first + i] = own[i];
}
)cuda";
}

std::string store_program(tensor::DType dtype, bool adds) {
    // The first key of a place adds up all of its rows; without sums the last one is all that counts.
    constexpr const char* kAdds = R"cuda(
        if (k > 0 && static_cast<i64>(keys[k - 1] / rows) == place) continue;
        {carrier} sum = {old};
        #pragma unroll 1
        for (i64 next = k; next < rows && static_cast<i64>(keys[next] / rows) == place; ++next) {{
            const i64 from = static_cast<i64>(keys[next] % rows) * inner + column;
            const {carrier} value = {given};
            sum = {sum};
        }}
        out[at] = {stored};
)cuda";
    constexpr const char* kStores = R"cuda(
        if (k + 1 < rows && static_cast<i64>(keys[k + 1] / rows) == place) continue;
        out[at] = values[static_cast<i64>(keys[k] % rows) * inner + column];
)cuda";
    std::string body = kStores;
    if (adds) {
        body = fmt::format(kAdds, fmt::arg("carrier", carrier_of(dtype)), fmt::arg("old", from_memory("out[at]", dtype)),
                           fmt::arg("given", from_memory("values[from]", dtype)),
                           fmt::arg("sum", rounded("plus(sum, value)", dtype)), fmt::arg("stored", to_memory("sum", dtype)));
    }
    return fmt::format(R"cuda(
extern "C" __global__ void __launch_bounds__(256) store_rows({0}* out, const {0}* values, const u64* keys, i64 rows, i64 inner) {{
    const i64 total = rows * inner;
    #pragma unroll 1
    for (i64 t = blockIdx.x * 256ll + threadIdx.x; t < total; t += gridDim.x * 256ll) {{
        const i64 k = t / inner, column = t % inner;
        const i64 place = static_cast<i64>(keys[k] / rows), at = place * inner + column;
{1}    }}
}}
)cuda",
                       memory_type_of(dtype), body);
}

}  // namespace talc::inductor::cuda
