// str.format and str.format_map: the template's fields filled with arguments.
#include <string>

#include "base/text/format_template.hpp"
#include "stdlib/builtins.hpp"
#include "stdlib/text_args.hpp"

namespace talc::stdlib {

namespace {

// Where the fields of a template come from.
struct Fields {
    const Args* args = nullptr;    // format(*args, **kwargs)
    Value mapping;                 // format_map(mapping)

    Ref positional(Vm& vm, int64_t index) const {
        if (!args) raise(vm, Exc::ValueError, std::string(text::kPositionalInFormatMap));
        if (static_cast<size_t>(index) >= args->nrest) raise_failure(vm, text::index_out_of_range(index));
        return args->rest[index];
    }
    Ref named(Vm& vm, std::string_view name) const {
        if (!args) return get_item(vm, mapping, make_str(vm, name));
        for (size_t i = 0; i < args->nkeywords; i++) {
            if (args->keyword_names[i]->view() == name) return args->keyword_values[i];
        }
        raise_with(vm, Exc::KeyError, make_str(vm, name));
    }
};

class TemplateFormatter {
  public:
    TemplateFormatter(Vm& vm, const Fields& fields) : vm_(vm), fields_(fields) {}

    void append(text::Buffer& out, std::string_view text, int depth) {
        if (depth == 0) raise(vm_, Exc::ValueError, std::string(text::kTemplateTooDeep));
        text::TemplateReader reader(text);
        text::TemplatePiece piece;
        bool done = false;
        for (;;) {
            check(vm_, reader.next(piece, done));
            if (done) return;
            out.append(piece.literal);
            if (piece.has_field) append_field(out, piece, depth);
        }
    }

  private:
    void append_field(text::Buffer& out, const text::TemplatePiece& piece, int depth) {
        Ref value = converted(field_value(piece.field), piece.conversion);
        if (!piece.nested) return append_formatted(out, value, piece.spec);
        text::Buffer spec(text_limit(vm_));
        append(spec, piece.spec, depth - 1);
        append_formatted(out, value, spec);
    }

    Ref field_value(std::string_view field) {
        text::FieldStart start = check(vm_, numbering_.begin(field));
        Ref value = start.is_index ? fields_.positional(vm_, start.index) : fields_.named(vm_, start.name);
        for (;;) {
            text::FieldStep step = check(vm_, start.path.next());
            switch (step.kind) {
                case text::FieldStep::End: return value;
                case text::FieldStep::Attribute: value = get_attr(vm_, value, intern(vm_, step.name).get()); break;
                case text::FieldStep::Index: value = get_item(vm_, value, Value::integer(step.index)); break;
                case text::FieldStep::Key: value = get_item(vm_, value, make_str(vm_, step.name)); break;
            }
        }
    }

    Ref converted(Ref value, char32_t conversion) {
        switch (conversion) {
            case 0: return value;
            case 's': return to_str(vm_, value);
            case 'r': return repr(vm_, value);
            case 'a': return ascii(vm_, value);
            default: raise_failure(vm_, text::unknown_conversion(conversion));
        }
    }

    void append_formatted(text::Buffer& out, Value value, std::string_view spec) {
        if (spec.empty() && is_plain(value, Kind::Str)) return out.append(cast<Str>(value)->view());
        out.append(vm::format(vm_, value, spec)->view());
    }

    Vm& vm_;
    const Fields& fields_;
    text::FieldNumbering numbering_;
};

Ref formatted(Vm& vm, Str* text, const Fields& fields) {
    text::Buffer out(text_limit(vm));
    TemplateFormatter(vm, fields).append(out, text->view(), text::kTemplateDepth);
    return make_str(vm, out);
}

}  // namespace

Ref str_format(Vm& vm, const Args& args) { return formatted(vm, self_str(args), Fields{&args, Value()}); }
Ref str_format_map(Vm& vm, const Args& args) { return formatted(vm, self_str(args), Fields{nullptr, args[1]}); }

}  // namespace talc::stdlib
