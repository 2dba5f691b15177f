// Special methods of builtin classes as methods: list.__len__(x), super().__setitem__(k, v). They go to the kind's own
// behaviour and past what a subclass overrides, which is what super() means.
#include "stdlib/support.hpp"

namespace talc::stdlib {

Ref kind_len(Vm& vm, const Args& args) { return integer(ops_of(args[0]).length(vm, args[0].o)); }
Ref kind_iter(Vm& vm, const Args& args) { return ops_of(args[0]).iterate(vm, args[0].o); }
Ref kind_repr(Vm& vm, const Args& args) { return ops_of(args[0]).repr(vm, args[0].o); }
Ref kind_contains(Vm& vm, const Args& args) { return boolean(ops_of(args[0]).contains(vm, args[0].o, args[1])); }
Ref kind_getitem(Vm& vm, const Args& args) { return ops_of(args[0]).get_item(vm, args[0].o, args[1]); }
Ref kind_hash(Vm& vm, const Args& args) { return integer(ops_of(args[0]).hash(vm, args[0].o)); }

Ref kind_setitem(Vm& vm, const Args& args) {
    ops_of(args[0]).set_item(vm, args[0].o, args[1], args[2]);
    return none();
}

Ref kind_delitem(Vm& vm, const Args& args) {
    ops_of(args[0]).del_item(vm, args[0].o, args[1]);
    return none();
}

namespace {

Ref compare_kind(Vm& vm, CompareOp op, const Args& args) {
    Ref result = ops_of(args[0]).compare(vm, op, args[0].o, args[1]);
    return result ? std::move(result) : not_implemented();
}

}  // namespace

Ref kind_eq(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Eq, args); }
Ref kind_ne(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Ne, args); }
Ref kind_lt(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Lt, args); }
Ref kind_le(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Le, args); }
Ref kind_gt(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Gt, args); }
Ref kind_ge(Vm& vm, const Args& args) { return compare_kind(vm, CompareOp::Ge, args); }

}  // namespace talc::stdlib
