#include "lang/code.hpp"

#include <bit>

namespace talc::lang {

bool Constant::same_as(const Constant& other) const {
    if (value.index() != other.value.index()) return false;
    if (auto* number = std::get_if<double>(&value)) {
        return std::bit_cast<uint64_t>(*number) == std::bit_cast<uint64_t>(std::get<double>(other.value));
    }
    if (auto* flag = std::get_if<bool>(&value)) return *flag == std::get<bool>(other.value);
    if (auto* integer = std::get_if<int64_t>(&value)) return *integer == std::get<int64_t>(other.value);
    if (auto* text = std::get_if<std::string>(&value)) return *text == std::get<std::string>(other.value);
    if (auto* bytes = std::get_if<BytesConstant>(&value)) {
        return bytes->data == std::get<BytesConstant>(other.value).data;
    }
    if (auto* tuple = std::get_if<TupleConstant>(&value)) {
        const auto& items = std::get<TupleConstant>(other.value).items;
        if (tuple->items.size() != items.size()) return false;
        for (size_t i = 0; i < items.size(); i++) {
            if (!tuple->items[i].same_as(items[i])) return false;
        }
    }
    return true;
}

}  // namespace talc::lang
