#pragma once
// hash() as pure functions. Numbers, tuples and frozensets hash as in CPython (equal numbers of different
// types hash alike); text hashes by XXH3 without a seed, so that it is the same in every run.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace talc::text {

// Python never gives -1.
inline int64_t hash_int(int64_t value) {
    constexpr uint64_t kModulus = (uint64_t{1} << 61) - 1;
    uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    size = (size & kModulus) + (size >> 61);
    if (size >= kModulus) size -= kModulus;
    int64_t hash = value < 0 ? -static_cast<int64_t>(size) : static_cast<int64_t>(size);
    return hash == -1 ? -2 : hash;
}

// nan_identity: what a nan hashes to; CPython takes the object's address, see hash_pointer.
int64_t hash_float(double value, int64_t nan_identity = 0);

// hash() of an object that is compared by identity.
inline int64_t hash_pointer(const void* pointer) {
    auto hash =
        static_cast<int64_t>(std::rotr(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer)), 4));
    return hash == -1 ? -2 : hash;
}

// Of str and bytes. Never -1, and 0 for empty text alone, so that 0 can mean "not computed yet".
int64_t hash_text(std::string_view s);

// hash(tuple): add the items' hashes in order.
class TupleHasher {
  public:
    void add(int64_t item_hash) {
        acc_ += static_cast<uint64_t>(item_hash) * kPrime2;
        acc_ = std::rotl(acc_, 31) * kPrime1;
        ++count_;
    }
    int64_t finish() const {
        uint64_t acc = acc_ + (count_ ^ (kPrime5 ^ 3527539u));
        return acc == UINT64_MAX ? 1546275796 : static_cast<int64_t>(acc);
    }

  private:
    static constexpr uint64_t kPrime1 = 11400714785074694791u;
    static constexpr uint64_t kPrime2 = 14029467366897019727u;
    static constexpr uint64_t kPrime5 = 2870177450012600261u;

    uint64_t acc_ = kPrime5;
    uint64_t count_ = 0;
};

// hash(frozenset): add the items' hashes in any order.
class FrozensetHasher {
  public:
    void add(int64_t item_hash) {
        auto h = static_cast<uint64_t>(item_hash);
        acc_ ^= ((h ^ 89869747u) ^ (h << 16)) * 3644798167u;
        ++count_;
    }
    int64_t finish() const {
        uint64_t acc = acc_ ^ ((count_ + 1) * 1927868237u);
        acc ^= (acc >> 11) ^ (acc >> 25);
        acc = acc * 69069u + 907133923u;
        return acc == UINT64_MAX ? 590923713 : static_cast<int64_t>(acc);
    }

  private:
    uint64_t acc_ = 0;
    uint64_t count_ = 0;
};

}  // namespace talc::text
