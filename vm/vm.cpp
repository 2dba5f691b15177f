#include "vm/vm.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include "vm/class.hpp"
#include "vm/namespace.hpp"
#include "vm/shape.hpp"
#include "vm/tensor.hpp"

namespace talc::vm {

namespace {

// Reserved address space, used as it is touched.
constexpr size_t kStackValues = size_t{4} << 20;
constexpr size_t kMaxFrames = size_t{1} << 20;
constexpr size_t kNativeStackReserve = 192 * 1024;  // left for C++ when RecursionError is raised
constexpr int64_t kFuelSlice = 1 << 20;             // instructions between two looks at the clock, at most
constexpr uint64_t kFirstSlice = 256;               // of a run that has a deadline

void* reserve(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
}

// Lowest address of the calling thread's stack.
char* native_stack_bottom() {
    thread_local char* bottom = [] {
        pthread_attr_t attributes;
        void* address = nullptr;
        size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            pthread_attr_getstack(&attributes, &address, &size);
            pthread_attr_destroy(&attributes);
        }
        return static_cast<char*>(address);
    }();
    return bottom;
}

}  // namespace

void populate_class(Vm& vm, Class* cls) {
    for (const NativeRow& row : vm.table.rows_of(cls->name->view())) {
        Ptr<Native> native = make_native(vm, &row, cls);
        std::string_view signature = row.signature;
        Ref value = native;
        constexpr std::string_view kSetter = ".setter";
        if (std::string_view(row.name).ends_with(kSetter)) {
            // Behind its getter, in the order of the rows.
            std::string_view name = std::string_view(row.name).substr(0, std::string_view(row.name).size() - kSetter.size());
            Cell* cell = namespace_find(cls->attributes, intern(vm, name).get());
            cast<Property>(cell->value)->set = Value::object(native.release());
            continue;
        }
        if (signature.starts_with("property ")) {
            auto* property = vm.heap.make<Property>(Kind::Property, vm.classes.property);
            property->get = Value::object(native.release());
            property->doc = Value::object(make_str(vm, row.doc).release());
            vm.heap.track(property);
            value = Ref::steal(Value::object(property));
        } else if (signature.starts_with("static ")) {
            auto* method = vm.heap.make<StaticMethod>(Kind::StaticMethod, vm.classes.staticmethod);
            method->function = Value::object(native.release());
            vm.heap.track(method);
            value = Ref::steal(Value::object(method));
        } else if (signature.starts_with("class ")) {
            auto* method = vm.heap.make<ClassMethod>(Kind::ClassMethod, vm.classes.classmethod);
            method->function = Value::object(native.release());
            vm.heap.track(method);
            value = Ref::steal(Value::object(method));
        }
        Ptr<Str> name = intern(vm, row.name);
        Cell* cell = namespace_add(vm, cls->attributes, name.get());
        decref(cell->value);
        cell->value = value.release();
    }
    for (const Class* unhashable : {vm.classes.list, vm.classes.dict, vm.classes.set, vm.classes.slice, vm.classes.dict_keys,
                                    vm.classes.dict_items}) {
        if (cls == unhashable) namespace_add(vm, cls->attributes, vm.names.special(Special::Hash))->value = Value::none();
    }
}

Vm::Vm(const BuiltinTable& builtin_table, Limits given_limits, Host given_host)
    : heap(*this), limits(given_limits), host(std::move(given_host)), table(builtin_table) {
    heap.set_allocator(host.resize_memory);
    stack_ = static_cast<Value*>(reserve(kStackValues * sizeof(Value)));
    stack_end_ = stack_ + kStackValues;
    stack_top_ = stack_;
    frames_ = static_cast<Frame*>(reserve(kMaxFrames * sizeof(Frame)));
    frames_end_ = frames_ + kMaxFrames;
    frame_ = frames_;  // frame 0 is never used: depth 0
    make_classes();
    init_tensors(*this);
    heap.set_limit(limits.memory);
    begin_run();
}

Vm::~Vm() {
    hooks = Hooks();
    raised_ = Ref();
    decref(std::exchange(handled_, Value()));
    kept_alive = Ref();
    extension.clear();
    if (modules) decref(static_cast<Object*>(std::exchange(modules, nullptr)));
    if (main_module) decref(static_cast<Object*>(std::exchange(main_module, nullptr)));
    if (builtins) decref(static_cast<Object*>(std::exchange(builtins, nullptr)));
    heap.set_stress(false);
    heap.collect();
    empty_tuple = nullptr;
    for (auto& c : chars) c = nullptr;
    empty_str = nullptr;
    for (Str*& name : names.specials) decref(static_cast<Object*>(name));
#define NAME(id, text) decref(static_cast<Object*>(names.id));
#include "vm/names.def"
#undef NAME
    for (Ref& dtype : dtypes) dtype = Ref();
    heap.clear_all();
    end_tensors(*this);
    munmap(stack_, kStackValues * sizeof(Value));
    munmap(frames_, kMaxFrames * sizeof(Frame));
}

void Vm::make_classes() {
    // str and type come first: every other class needs a name and a class of its own.
    auto* type = heap.make<Class>(Kind::Class, nullptr);
    classes.type = type;
    type->cls = type;
    type->refs++;
    type->vm = this;
    type->instance_kind = Kind::Class;
    type->sealed = true;
    type->root_shape = make_root_shape(type);
    auto* str = heap.make<Class>(Kind::Class, type);
    classes.str = str;
    str->vm = this;
    str->instance_kind = Kind::Str;
    str->root_shape = make_root_shape(str);
    auto* cell = heap.make<Class>(Kind::Class, type);
    classes.cell = cell;
    cell->vm = this;
    cell->instance_kind = Kind::Cell;
    cell->sealed = true;
    cell->root_shape = make_root_shape(cell);
    for (auto [cls, name] : {std::pair{type, "type"}, std::pair{str, "str"}, std::pair{cell, "cell"}}) {
        cls->name = intern(*this, name).release();
        cls->qualname = cls->name;
        cls->name->refs++;
        cls->populate = populate_class;
        heap.track(cls);
    }
    Class* none = nullptr;
#define KLASS(field, text, kind, base_field)                                             \
    {                                                                                    \
        Class* base = base_field;                                                        \
        if (!classes.field) {                                                            \
            classes.field = make_class(*this, text, base, Kind::kind);                   \
            classes.field->populate = populate_class;                                    \
        } else if (base) {                                                               \
            classes.field->base = base;                                                  \
            base->refs++;                                                                \
        }                                                                                \
    }
    {
        Class *&object = classes.object, *&int_ = classes.int_, *&tuple = classes.tuple, *&tensor = classes.tensor;
#include "vm/classes.def"
    }
#undef KLASS
    (void)none;
    classes.text_file->dotted = intern(*this, "_io.TextIOWrapper").release();
    classes.object->sealed = false;
    classes.str->sealed = false;
    classes.bool_->sealed = true;
    classes.traceback->slots_offset = offsetof(Instance, slots);
    for (Class* sealed : {classes.traceback, classes.none_type, classes.not_implemented_type, classes.ellipsis_type}) sealed->sealed = true;
    classes.function->slots_offset = offsetof(Function, slots);
#define EXCEPTION(name, base)                                                                            \
    {                                                                                                    \
        Class* parent = std::string_view(#base) == "object" ? classes.object : find_exception(#base);    \
        Class* made = make_class(*this, #name, parent, Kind::Exception);                                 \
        made->slots_offset = offsetof(Exception, slots);                                                 \
        made->populate = populate_class;                                                                 \
        classes.exceptions[static_cast<int>(Exc::name)] = made;                                          \
    }
    auto find_exception = [this](std::string_view name) -> Class* {
        for (Class* cls : classes.exceptions) {
            if (cls && cls->name->view() == name) return cls;
        }
        return nullptr;
    };
#include "vm/exceptions.def"
#undef EXCEPTION
    empty_str = make_str(*this, "");
    empty_tuple = Ptr<Tuple>::steal(make_raw_tuple(*this, 0));
    heap.track(empty_tuple.get());
    constexpr const char* kSpecialNames[] = {
#define SPECIAL(id, text) text,
#include "vm/specials.def"
#undef SPECIAL
    };
    for (size_t i = 0; i < static_cast<size_t>(Special::count); i++) names.specials[i] = intern(*this, kSpecialNames[i]).release();
#define NAME(id, text) names.id = intern(*this, text).release();
#include "vm/names.def"
#undef NAME
    modules = make_dict(*this).release();
    builtins = make_module("builtins", "").release();
    main_module = make_module("__main__", "").release();
    dict_set(*this, modules, Value::object(names.main_), Value::object(main_module));
}

// ---- Names ----------------------------------------------------------------------------------------

Ptr<Module> Vm::make_module(std::string_view name, std::string_view file) {
    auto* module = heap.make<Module>(Kind::Module, classes.module);
    module->name = intern(*this, name).release();
    if (!file.empty()) module->file = make_str(*this, file).release();
    heap.track(module);
    Ptr<Module> made = Ptr<Module>::steal(module);
    if (builtins) {
        Cell* cell = global_cell(module, names.name_);
        cell->value = Value::object(module->name);
        module->name->refs++;
    }
    return made;
}

Ref Vm::builtin(std::string_view name) {
    Ptr<Str> interned_name = intern(*this, name);
    Cell* cell = namespace_find(builtins->globals, interned_name.get());
    if (cell && !cell->value.is_undef()) return cell->value;
    Ref value;
#define KLASS(field, text, kind, base)                                                                        \
    if (!value && name == text && std::string_view(text).find("_") == std::string_view::npos) value = Value::object(classes.field);
#include "vm/classes.def"
#undef KLASS
    for (Class* cls : classes.exceptions) {
        if (!value && cls->name->view() == name) value = Value::object(cls);
    }
    static constexpr std::string_view kHidden[] = {"NoneType", "NotImplementedType", "ellipsis", "cell", "code", "function",
                                                   "method", "module", "generator", "traceback", "iterator", "TextIOWrapper",
                                                   "BufferedReader", "UnionType", "GenericAlias", "Parameter", "Size"};
    for (std::string_view hidden : kHidden) {
        if (name == hidden) return {};
    }
    if (!value && name == "NotImplemented") value = Value::not_implemented();
    if (!value && name == "Ellipsis") value = Value::ellipsis();
    if (!value) {
        if (const NativeRow* row = table.find("", name)) value = make_native(*this, row, nullptr);
    }
    if (!value && table.make_value) value = table.make_value(*this, name);
    if (!value) return {};
    cell = namespace_add(*this, builtins->globals, interned_name.get());
    cell->value = Ref(value).release();
    return value;
}

Cell* Vm::global_cell(Module* module, Str* name) {
    if (Cell* found = namespace_find(module->globals, name)) return found;
    Cell* cell = namespace_add(*this, module->globals, name);
    if (module != builtins && builtins && builtin(name->view())) {
        cell->fallback = namespace_find(builtins->globals, name);
    }
    return cell;
}

// ---- Limits ---------------------------------------------------------------------------------------

// An engine whose memory is used up can still be told to let go of something: a run gets a little room beyond the limit,
// as long as all of that together stays small.
size_t Vm::memory_for_run() const {
    constexpr size_t kRoom = 256 << 10;
    constexpr size_t kLeastExtra = 1 << 20;
    if (limits.memory >= SIZE_MAX / 2) return limits.memory;
    size_t most = limits.memory + std::max(limits.memory / 8, kLeastExtra);
    return std::min(most, std::max(limits.memory, heap.used() + kRoom));
}

void Vm::begin_run() {
    char* bottom = native_stack_bottom();
    native_stack_limit_ = bottom ? bottom + kNativeStackReserve : nullptr;
    heap.set_limit(memory_for_run());
    has_deadline_ = limits.seconds > 0;
    slice_ = has_deadline_ ? kFirstSlice : static_cast<uint64_t>(kFuelSlice);
    if (has_deadline_) {
        slice_began_ = std::chrono::steady_clock::now();
        deadline_ = slice_began_ +
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(limits.seconds));
    }
    fuel_used_ = 0;
    fuel_given_ = 0;
    fuel = 0;
    refuel();
}

void Vm::refuel() {
    fuel_used_ += static_cast<uint64_t>(static_cast<int64_t>(fuel_given_) - fuel);
    uint64_t left = limits.instructions > fuel_used_ ? limits.instructions - fuel_used_ : 0;
    fuel_given_ = std::min(left, slice_);
    fuel = static_cast<int64_t>(fuel_given_);
}

// Instructions can be slow (a product of matrices, a class of a thousand bases): a slice that took long is followed by a
// shorter one, so that a deadline is noticed in time.
void Vm::adapt_slice() {
    if (!has_deadline_) return;
    auto now = std::chrono::steady_clock::now();
    auto took = now - slice_began_;
    slice_began_ = now;
    if (took > std::chrono::milliseconds(4)) {
        slice_ = std::max<uint64_t>(slice_ / 4, 16);
    } else if (took < std::chrono::milliseconds(1)) {
        slice_ = std::min(slice_ * 2, static_cast<uint64_t>(kFuelSlice));
    }
}

uint64_t Vm::instructions_run() const { return fuel_used_ + static_cast<uint64_t>(static_cast<int64_t>(fuel_given_) - fuel); }

void Vm::interrupt() {
    interrupted_.store(true, std::memory_order_relaxed);
    poll_flag.store(true, std::memory_order_release);
}

void Vm::poll_slow() {
    poll_flag.store(warm_, std::memory_order_relaxed);  // that one waits for a loop header or a call
    if (interrupted_.exchange(false)) {
        raise_object(*this, make_exception(*this, classes.of(Exc::KeyboardInterrupt), nullptr, 0));
    }
    if (fuel >= 0) return;
    adapt_slice();
    refuel();
    if (fuel_used_ >= limits.instructions) {
        fuel = kFuelSlice;  // so that handlers and cleanup can run a little
        fuel_given_ = static_cast<uint64_t>(kFuelSlice);
        raise(*this, Exc::LimitExceeded, "instruction limit of {} passed", limits.instructions);
    }
    check_time();
}

void Vm::check_time() {
    if (interrupted_.load(std::memory_order_relaxed)) poll_slow();
    if (has_deadline_ && std::chrono::steady_clock::now() >= deadline_) {
        raise(*this, Exc::LimitExceeded, "time limit of {} s passed", limits.seconds);
    }
}

void Vm::check_stack() {
    char here;
    if (&here < native_stack_limit_) [[unlikely]] {
        raise(*this, Exc::RecursionError, std::string("maximum recursion depth exceeded"));
    }
}

}  // namespace talc::vm
