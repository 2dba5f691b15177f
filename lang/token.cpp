#include "lang/token.hpp"

#include <array>

namespace talc::lang {

namespace {

constexpr std::string_view kKindNames[] = {
#define TALC_TOKEN(kind, description, category) #kind,
#include "lang/tokens.def"
};

constexpr std::string_view kDescriptions[] = {
#define TALC_TOKEN(kind, description, category) description,
#include "lang/tokens.def"
};

constexpr TokenCategory kCategories[] = {
#define TALC_TOKEN(kind, description, category) TokenCategory::category,
#include "lang/tokens.def"
};

struct Keyword {
    std::string_view text;
    TokenKind kind;
};

constexpr Keyword kKeywords[] = {
#define TALC_KEYWORD(kind, text) {text, TokenKind::kind},
#include "lang/tokens.def"
};

constexpr size_t kKeywordCount = std::size(kKeywords);
constexpr uint8_t kNoKeyword = 255;

// For each ASCII letter the first keyword that begins with it, and from each keyword the next one with the
// same first letter: a lookup compares at most five words and usually none.
struct KeywordIndex {
    std::array<uint8_t, 128> first{};
    std::array<uint8_t, kKeywordCount> next{};
};

constexpr KeywordIndex make_keyword_index() {
    KeywordIndex index;
    for (auto& entry : index.first) entry = kNoKeyword;
    for (size_t i = kKeywordCount; i-- > 0;) {
        auto letter = static_cast<unsigned char>(kKeywords[i].text[0]);
        index.next[i] = index.first[letter];
        index.first[letter] = static_cast<uint8_t>(i);
    }
    return index;
}

constexpr KeywordIndex kKeywordIndex = make_keyword_index();

}  // namespace

std::string_view token_kind_name(TokenKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string_view token_description(TokenKind kind) { return kDescriptions[static_cast<size_t>(kind)]; }

TokenCategory token_category(TokenKind kind) { return kCategories[static_cast<size_t>(kind)]; }

TokenKind keyword_or_name(std::string_view text) {
    auto letter = static_cast<unsigned char>(text[0]);
    if (letter >= 128 || text.size() > 8) return TokenKind::Name;
    for (uint8_t i = kKeywordIndex.first[letter]; i != kNoKeyword; i = kKeywordIndex.next[i]) {
        if (kKeywords[i].text == text) return kKeywords[i].kind;
    }
    return TokenKind::Name;
}

}  // namespace talc::lang
