#include "stdlib/streams.hpp"

#include <algorithm>

namespace talc::stdlib {

std::shared_ptr<Streams> Streams::shared(vm::Vm& vm) {
    static const char kKey = 0;
    std::shared_ptr<void>& slot = vm.extension[&kKey];
    if (!slot) slot = std::make_shared<Streams>();
    return std::static_pointer_cast<Streams>(slot);
}

Streams& Streams::of(vm::Vm& vm) { return *shared(vm); }

Streams::Streams() : in_(0, false), out_(1, false), err_(2, false) {
    if (out_.is_terminal()) out_.set_flush(RawFile::Flush::Lines);
    err_.set_flush(RawFile::Flush::Always);
}

void Streams::write_out(vm::Vm& vm, std::string_view text) {
    if (vm.host.out) {
        vm.host.out(text);
    } else {
        out_.write(vm, text);
    }
}

void Streams::write_err(vm::Vm& vm, std::string_view text) {
    if (vm.host.err) {
        vm.host.err(text);
    } else {
        err_.write(vm, text);
    }
}

void Streams::flush_out(vm::Vm& vm) { out_.flush(vm); }

bool Streams::read_line(vm::Vm& vm, std::string& line) {
    flush_out(vm);
    if (vm.host.read_line) {
        if (!vm.host.read_line(line)) return false;
        if (!line.ends_with('\n')) line += '\n';
        return true;
    }
    size_t end;
    size_t searched = 0;
    while ((end = in_.buffered().find('\n', searched)) == std::string_view::npos) {
        searched = in_.buffered().size();
        if (!in_.fill(vm)) break;
    }
    line = in_.buffered().substr(0, end == std::string_view::npos ? end : end + 1);
    in_.consume(line.size());
    return !line.empty();
}

struct Streams::WatchedVariables {
    Watched of[3];
};

void Streams::watch(vm::Vm& vm, int which, vm::Cell* variable, vm::Value original) {
    static const char kKey = 0;
    if (!watched_) {
        auto made = std::make_shared<WatchedVariables>();
        watched_ = made.get();
        vm.extension[&kKey] = std::move(made);
    }
    watched_->of[which] = {vm::Ref(variable), vm::Ref(original)};
}

vm::Value Streams::replacement(int which) const {
    if (!watched_ || watched_->of[which].variable.is_undef()) return {};
    const Watched& watched = watched_->of[which];
    vm::Value now = vm::cast<vm::Cell>(watched.variable.get())->value;
    return now.same(watched.original) ? vm::Value() : now;
}

void Streams::remove(RawFile* file) { std::erase(files_, file); }

void Streams::flush_all() {
    out_.flush_quietly();
    for (RawFile* file : files_) file->flush_quietly();
}

}  // namespace talc::stdlib
