#pragma once
// Makes new programs out of old ones: by bytes, by tokens, by lines, and by splicing two of them.
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tests/fuzz/random.hpp"

namespace talc::fuzz {

// A seed program, taken apart once.
struct Seed {
    std::string name;
    std::string whole;
    std::string text;                      // without comments
    std::vector<std::string_view> blocks;  // of the text: top-level statements, each with its indented lines
};

class Corpus {
  public:
    void add(std::string name, const std::string& text);
    bool empty() const { return seeds_.empty(); }
    size_t size() const { return seeds_.size(); }
    const std::string& whole(size_t index) const { return seeds_[index]->whole; }
    // A mutated program of at most about `limit` bytes.
    std::string make(Random& random, size_t limit) const;

  private:
    const Seed& pick(Random& random) const { return *seeds_[random.below(seeds_.size())]; }
    std::string excerpt(Random& random, size_t limit) const;
    void mutate_bytes(Random& random, std::string& text) const;
    void mutate_tokens(Random& random, std::string& text) const;
    void mutate_lines(Random& random, std::string& text) const;

    std::vector<std::unique_ptr<Seed>> seeds_;
    std::vector<std::string> words_;  // identifiers and literals of all seeds, each once
    std::unordered_set<std::string> known_;
};

}  // namespace talc::fuzz
