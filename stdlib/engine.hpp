#pragma once
// The engine's inside, for the rooms behind the public header.
#include "jit/jit.hpp"
#include "lang/syntax_error.hpp"
#include "talc/talc.hpp"
#include "vm/vm.hpp"

namespace talc {

struct Engine::State {
    explicit State(Options given);
    virtual ~State() = default;
    // The data of an uncaught exception: type, message, report and places.
    Error error_of(vm::Value exception);
    Result run(std::shared_ptr<const Source> source, bool interactive = false);
    Result failure(vm::Ref exception);         // the report of an uncaught exception
    Result compile_failure(const lang::SyntaxError& error, const Source& source);

    Options options;
    vm::Vm vm;
    std::unique_ptr<jit::Jit> jit;  // null: switched off
};

namespace detail {
// The state under the name that the public header knows.
struct EngineState final : Engine::State {
    using State::State;
};
}  // namespace detail

}  // namespace talc
