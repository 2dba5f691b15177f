#pragma once
// A set of small numbers; the first 64 need no memory.
#include <cstdint>
#include <vector>

namespace talc::lang {

class BitSet {
  public:
    bool contains(uint32_t index) const {
        if (index < 64) return (first_ >> index & 1) != 0;
        size_t word = index / 64 - 1;
        return word < rest_.size() && (rest_[word] >> (index % 64) & 1) != 0;
    }
    void add(uint32_t index) {
        if (index < 64) {
            first_ |= uint64_t{1} << index;
            return;
        }
        size_t word = index / 64 - 1;
        if (word >= rest_.size()) rest_.resize(word + 1);
        rest_[word] |= uint64_t{1} << (index % 64);
    }
    void remove(uint32_t index) {
        if (index < 64) {
            first_ &= ~(uint64_t{1} << index);
        } else if (index / 64 - 1 < rest_.size()) {
            rest_[index / 64 - 1] &= ~(uint64_t{1} << (index % 64));
        }
    }
    void intersect(const BitSet& other) {
        first_ &= other.first_;
        if (rest_.size() > other.rest_.size()) rest_.resize(other.rest_.size());
        for (size_t i = 0; i < rest_.size(); i++) rest_[i] &= other.rest_[i];
    }

    bool operator==(const BitSet& other) const {
        if (first_ != other.first_) return false;
        size_t longest = rest_.size() > other.rest_.size() ? rest_.size() : other.rest_.size();
        for (size_t i = 0; i < longest; i++) {
            uint64_t mine = i < rest_.size() ? rest_[i] : 0;
            uint64_t theirs = i < other.rest_.size() ? other.rest_[i] : 0;
            if (mine != theirs) return false;
        }
        return true;
    }

  private:
    uint64_t first_ = 0;
    std::vector<uint64_t> rest_;
};

}  // namespace talc::lang
