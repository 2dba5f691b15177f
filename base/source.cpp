#include "base/source.hpp"

#include <algorithm>

namespace talc {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

uint32_t count_code_points(std::string_view text) {
    return static_cast<uint32_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

}  // namespace

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
    starts_.push_back(0);
    for (size_t i = 0; i < text_.size(); i++) {
        if (text_[i] == '\n') starts_.push_back(static_cast<uint32_t>(i + 1));
    }
}

uint32_t Source::line_of(uint32_t offset) const {
    auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    return static_cast<uint32_t>(after - starts_.begin());
}

LineColumn Source::locate(uint32_t offset) const {
    uint32_t number = line_of(offset);
    uint32_t begin = starts_[number - 1];
    uint32_t end = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
    return {number, 1 + count_code_points(std::string_view(text_).substr(begin, end > begin ? end - begin : 0))};
}

std::string_view Source::line(uint32_t number) const {
    if (number == 0 || number > starts_.size()) return {};
    uint32_t begin = starts_[number - 1];
    uint32_t end = number < starts_.size() ? starts_[number] - 1 : static_cast<uint32_t>(text_.size());
    std::string_view result = std::string_view(text_).substr(begin, end - begin);
    if (!result.empty() && result.back() == '\r') result.remove_suffix(1);
    return result;
}

std::string caret_excerpt(const Source& source, Span span, std::string_view indent) {
    uint32_t number = source.line_of(span.begin);
    std::string_view line = source.line(number);
    uint32_t begin = span.begin - source.line_begin(number);
    uint32_t end = std::min<uint32_t>(span.end > span.begin ? span.end - source.line_begin(number) : begin + 1,
                                      static_cast<uint32_t>(line.size()));
    size_t lead = 0;
    while (lead < line.size() && (line[lead] == ' ' || line[lead] == '\t')) lead++;
    lead = std::min<size_t>(lead, begin);
    std::string out(indent);
    out.append(line.substr(lead));
    out += '\n';
    out += indent;
    for (size_t i = lead; i < begin && i < line.size(); i++) {
        if (!is_continuation(line[i])) out += line[i] == '\t' ? '\t' : ' ';
    }
    out += '^';
    for (size_t i = begin + 1; i < end; i++) {
        if (!is_continuation(line[i])) out += '~';
    }
    return out;
}

}  // namespace talc
