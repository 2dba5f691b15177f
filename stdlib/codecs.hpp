#pragma once
// Text to bytes and back: utf-8, ascii and latin-1, with the error handlers strict, ignore, replace, backslashreplace and
// xmlcharrefreplace (encoding only). Errors are CPython's UnicodeEncodeError, UnicodeDecodeError and LookupError.
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

vm::Ptr<vm::Bytes> encode_text(vm::Vm& vm, std::string_view text, std::string_view encoding, std::string_view errors);
vm::Ptr<vm::Str> decode_bytes(vm::Vm& vm, std::string_view bytes, std::string_view encoding, std::string_view errors);

// Optional encoding and errors arguments, as open(), str() and bytes() take them.
struct CodecNames {
    std::string_view encoding = "utf-8";
    std::string_view errors = "strict";
};
CodecNames codec_names(vm::Vm& vm, vm::Value encoding, vm::Value errors, std::string_view function);

}  // namespace talc::stdlib
