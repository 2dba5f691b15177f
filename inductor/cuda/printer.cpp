#include "inductor/cuda/printer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "inductor/cuda/expressions.hpp"

namespace talc::inductor::cuda {

using loops::Dim;
using loops::DType;
using loops::Kernel;
using loops::Op;
using loops::Placement;
using loops::Value;
using loops::ValueId;
using tensor::is_float;

namespace {

constexpr int64_t kWarpRow = 1024;  // rows up to this length are folded by one warp,
constexpr int64_t kFewRows = 256;   // but where there are so few of them by a block,
constexpr int64_t kShortRow = 128;  // unless they are shorter than this
constexpr int kChunk = 64;          // float elements of a thread whose sum is made in float
constexpr size_t kLongBody = 20;    // values; steps with more of them keep a thread busy one by one
// The compiler unrolls loops of unknown length by itself. Most of the time that it takes goes there, for loops that do
// not gain by it: remainders, and long bodies.
constexpr const char* kOneByOne = "#pragma unroll 1";

class Printer {
  public:
    Printer(const Kernel& kernel, const std::string& name, Launch& launch, const std::vector<bool>& by_value)
        : kernel_(kernel), places_(place(kernel)), phases_(phase_count(kernel, places_)), launch_(launch),
          by_value_(by_value) {
        by_value_.resize(kernel.buffers.size(), false);
        launch_.name = name;
        launch_.points = loops::product(kernel_.parallel);
        for (const loops::Store& store : kernel_.stores) {
            if (kernel_.parallel.empty() && store.index == Dim(0) && !stored_inside(store)) launch_.mirrored = static_cast<int>(store.buffer);
        }
    }

    std::string run() {
        for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
            if (by_value_[b]) line("const {0}* b{1} = &s{1};", memory_type_of(kernel_.buffers[b].dtype), b);
        }
        if (kernel_.folded.empty()) {
            points();
        } else {
            choose_fold();
            choose_split();
            folds();
        }
        std::string head = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(",
                                       launch_.threads_x * launch_.threads_y, launch_.name);
        for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
            if (by_value_[b]) {
                head += fmt::format("const {} s{}, ", memory_type_of(kernel_.buffers[b].dtype), b);
                continue;
            }
            bool loaded = false;
            for (const Value& value : kernel_.values) loaded = loaded || (value.kind == Value::Load && value.buffer == b);
            bool stored = kernel_.buffers[b].stored;
            head += fmt::format("{}{}*{} b{}, ", stored ? "" : "const ", memory_type_of(kernel_.buffers[b].dtype),
                                loaded && stored ? "" : " __restrict__", b);
        }
        for (size_t n = 0; n < kernel_.params.size(); ++n) head += fmt::format("const i64 n{}, ", n);
        head += "Error* error";
        if (launch_.folds) head += ", i64* scratch, unsigned* tickets";
        if (launch_.mirrored >= 0) head += ", Mirror* mirror, const u64 number";
        head += ") {\n";
        return head + text_ + "}\n";
    }

  private:
    template <class... Args>
    void line(fmt::format_string<Args...> text, Args&&... args) {
        text_ += std::string(4 * indent_, ' ') + fmt::format(text, std::forward<Args>(args)...) + "\n";
    }
    template <class... Args>
    void open(fmt::format_string<Args...> text, Args&&... args) {
        line(text, std::forward<Args>(args)...);
        ++indent_;
    }
    void close() {
        --indent_;
        line("}}");
    }

    // ---- values -----------------------------------------------------------------------------------------------
    std::string load_text(const Value& value) {
        return from_memory(fmt::format("b{}[{}]", value.buffer, index_text(value.index)), value.dtype);
    }

    void statement(ValueId id, const std::string* instead = nullptr) {
        const Value& value = kernel_.values[id];
        std::string text;
        switch (value.kind) {
            case Value::Load: text = instead ? *instead : load_text(value); break;
            case Value::Number: text = number_text(value.number, value.dtype); break;
            case Value::Index: text = index_text(value.index); break;
            case Value::Bound:
                text = fmt::format("bound(error, {}, v{}, {}, {})", value.site, value.operands[0], index_text(value.index),
                                   value.mode);
                break;
            case Value::Apply:
                if (value.mode && value.op != Op::Gelu) {
                    line("if (v{0} == 0) report(error, {1}, 0, 0);", value.operands[1], value.site);
                }
                text = apply_text(kernel_, value);
                break;
            case Value::Random:
                text = fmt::format("{}_of(philox(v{}, v{}, {}))", name_of(value.op), value.operands[0], value.operands[1],
                                   index_text(value.index));
                break;
            case Value::Fold: return;
        }
        line("const {} v{} = {};", carrier_of(value.dtype), id, text);
    }

    void store_statement(const loops::Store& store) {
        std::string value = to_memory(fmt::format("v{}", store.value), kernel_.buffers[store.buffer].dtype);
        line("b{}[{}] = {};", store.buffer, index_text(store.index), value);
        if (launch_.mirrored == static_cast<int>(store.buffer)) line("show(mirror, number, {});", value);
    }

    // i0, i1, ... (or with another letter) of the point `number`.
    void coordinates(const char* number, char letter = 'i') {
        std::string rest = number;
        for (size_t d = kernel_.parallel.size(); d-- > 0;) {
            if (d == 0) {
                line("const i64 {}0 = {};", letter, rest);
                continue;
            }
            std::string size = index_text(kernel_.parallel[d]);
            line("const i64 {}{} = {} % ({});", letter, d, rest, size);
            line("const i64 q{} = {} / ({});", d, rest, size);
            rest = fmt::format("q{}", d);
        }
    }

    // ---- kernels without folds --------------------------------------------------------------------------------
    uint32_t inner_var() const { return loops::kVarBase + static_cast<uint32_t>(kernel_.parallel.size()) - 1; }

    // Consecutive along the innermost loop, and with the rest of the index a multiple of the pack's length.
    bool packs(Dim index, int64_t length) const {
        auto linear = loops::linear_in(index, inner_var());
        if (!linear || linear->coefficient != Dim(1)) return false;
        std::vector<uint32_t> symbols;
        collect_symbols(linear->rest, symbols);
        for (uint32_t s : symbols) {
            if (loops::kind_of(s) == loops::SymbolKind::Datum) return false;
        }
        return linear->rest == Dim(0) || divides(Dim(length), linear->rest);
    }

    int64_t pack_length() const {
        if (kernel_.parallel.empty()) return 1;
        size_t widest = 1;
        bool any = false;
        for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
            if (!by_value_[b]) widest = std::max(widest, size_of(kernel_.buffers[b].dtype));
        }
        int64_t length = std::min<int64_t>(8, 16 / static_cast<int64_t>(widest));
        // With several loops a pack must not reach over the end of the innermost.
        if (kernel_.parallel.size() > 1 && !divides(Dim(length), kernel_.parallel.back())) return 1;
        for (const loops::Store& store : kernel_.stores) any = any || packs(store.index, length);
        return any ? length : 1;
    }

    void points() {
        int64_t length = pack_length();
        launch_.points_per_block = static_cast<unsigned>(256 * length);
        line("const i64 total = {};", index_text(launch_.points));
        if (length == 1) {
            if (kernel_.values.size() > kLongBody) line("{}", kOneByOne);
            open("for (i64 t = blockIdx.x * 256ll + threadIdx.x; t < total; t += gridDim.x * 256ll) {{");
            single_point("t");
            close();
            return;
        }
        std::string test;
        for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
            if (packed_buffer(b, length)) test += fmt::format("{}aligned<{}>(b{})", test.empty() ? "" : " && ", length, b);
        }
        line("const bool packed = {};", test.empty() ? "false" : test);
        line("const i64 whole = packed ? total / {} * {} : 0;", length, length);
        if (kernel_.values.size() > kLongBody) line("{}", kOneByOne);
        open("for (i64 t = (blockIdx.x * 256ll + threadIdx.x) * {0}; t < whole; t += gridDim.x * {1}ll) {{", length, 256 * length);
        packed_points(length);
        close();
        line("{}", kOneByOne);
        open("for (i64 t = whole + blockIdx.x * 256ll + threadIdx.x; t < total; t += gridDim.x * 256ll) {{");
        single_point("t");
        close();
    }

    bool packed_buffer(size_t b, int64_t length) const {
        for (const Value& value : kernel_.values) {
            if (value.kind == Value::Load && value.buffer == b && packs(value.index, length)) return true;
        }
        for (const loops::Store& store : kernel_.stores) {
            if (store.buffer == b && packs(store.index, length)) return true;
        }
        return false;
    }

    void single_point(const char* number) {
        if (!kernel_.parallel.empty()) coordinates(number);
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            if (places_[i].used) statement(static_cast<ValueId>(i));
        }
        for (const loops::Store& store : kernel_.stores) store_statement(store);
    }

    // The first lane's coordinates serve for the addresses of packs.
    void packed_points(int64_t length) {
        coordinates("t", 'a');
        std::string first = fmt::format("a{}", kernel_.parallel.size() - 1);
        auto at_first = [&](Dim index) {
            std::string text = index_text(index);
            std::string result;
            for (size_t i = 0; i < text.size(); ++i) {  // i0 -> a0
                bool starts = text[i] == 'i' && (i == 0 || !isalnum(static_cast<unsigned char>(text[i - 1])));
                result += starts ? 'a' : text[i];
            }
            return result;
        };
        auto type_of = [&](size_t b) { return memory_type_of(kernel_.buffers[b].dtype); };
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Value& value = kernel_.values[i];
            if (!places_[i].used || value.kind != Value::Load || !packs(value.index, length)) continue;
            line("const auto x{0} = *reinterpret_cast<const Pack<{1}, {2}>*>(b{3} + ({4}));", i, type_of(value.buffer), length,
                 value.buffer, at_first(value.index));
        }
        for (size_t s = 0; s < kernel_.stores.size(); ++s) {
            if (packs(kernel_.stores[s].index, length)) {
                line("Pack<{}, {}> y{};", type_of(kernel_.stores[s].buffer), length, s);
            }
        }
        line("#pragma unroll");
        open("for (int lane = 0; lane < {}; ++lane) {{", length);
        for (size_t d = 0; d + 1 < kernel_.parallel.size(); ++d) line("const i64 i{0} = a{0};", d);
        line("const i64 i{} = {} + lane;", kernel_.parallel.size() - 1, first);
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Value& value = kernel_.values[i];
            if (!places_[i].used) continue;
            bool packed = value.kind == Value::Load && packs(value.index, length);
            std::string instead = packed ? from_memory(fmt::format("x{}.at[lane]", i), value.dtype) : "";
            statement(static_cast<ValueId>(i), packed ? &instead : nullptr);
        }
        for (size_t s = 0; s < kernel_.stores.size(); ++s) {
            const loops::Store& store = kernel_.stores[s];
            if (!packs(store.index, length)) {
                store_statement(store);
                continue;
            }
            DType dtype = kernel_.buffers[store.buffer].dtype;
            line("y{}.at[lane] = {};", s, to_memory(fmt::format("v{}", store.value), dtype));
        }
        close();
        for (size_t s = 0; s < kernel_.stores.size(); ++s) {
            const loops::Store& store = kernel_.stores[s];
            if (!packs(store.index, length)) continue;
            line("*reinterpret_cast<Pack<{0}, {1}>*>(b{2} + ({3})) = y{4};", type_of(store.buffer), length, store.buffer,
                 at_first(store.index), s);
        }
    }

    // ---- folds ------------------------------------------------------------------------------------------------
    enum class Fold { Warp, Block, Columns };

    void choose_fold() {
        uint32_t row = loops::kFoldBase + static_cast<uint32_t>(kernel_.folded.size()) - 1;
        int along_row = 0, along_column = 0;
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Value& value = kernel_.values[i];
            if (value.kind != Value::Load || !places_[i].folded) continue;
            auto is_one = [&](uint32_t var) {
                auto linear = loops::linear_in(value.index, var);
                return linear && linear->coefficient == Dim(1);
            };
            along_row += is_one(row);
            along_column += !kernel_.parallel.empty() && is_one(inner_var());
        }
        Dim length = loops::product(kernel_.folded);
        bool few = launch_.points.is_constant() && launch_.points.constant() <= kFewRows;
        bool warp = length.is_constant() && length.constant() <= (few ? kShortRow : kWarpRow);
        if (along_column > along_row) {
            fold_ = Fold::Columns;
            launch_.threads_x = 32;
            launch_.threads_y = 8;
            launch_.points_per_block = 32;
        } else if (warp) {
            fold_ = Fold::Warp;
            launch_.threads_x = 256;
            launch_.points_per_block = 8;
        } else {
            fold_ = Fold::Block;
            launch_.threads_x = 256;
            launch_.points_per_block = 1;
        }
    }

    // A fold of one pass whose result alone is stored: several blocks may share a row, and the last one to be done joins
    // what they have found.
    void choose_split() {
        if (fold_ == Fold::Warp || phases_ != 1) return;
        for (const loops::Store& store : kernel_.stores) {
            if (stored_inside(store)) return;
        }
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            if (kernel_.values[i].kind == Value::Fold && places_[i].used) ++launch_.folds;
            if (places_[i].used && places_[i].folded && places_[i].phase > 0) {
                launch_.folds = 0;
                return;
            }
        }
        launch_.length = loops::product(kernel_.folded);
        launch_.least_length = fold_ == Fold::Block ? 2048 : 64;
        // Too short for two.
        if (launch_.length.is_constant() && launch_.length.constant() < 2 * launch_.least_length) launch_.folds = 0;
    }

    bool stored_inside(const loops::Store& store) const {
        std::vector<uint32_t> symbols;
        collect_symbols(store.index, symbols);
        return places_[store.value].folded || std::any_of(symbols.begin(), symbols.end(), [](uint32_t s) {
                   return loops::kind_of(s) == loops::SymbolKind::Folded;
               });
    }

    uint32_t pass_of(const loops::Store& store) const {
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Value& value = kernel_.values[i];
            if (value.kind == Value::Load && value.buffer == store.buffer && places_[i].used) return phases_;
        }
        return places_[store.value].phase;
    }

    // Float sums are made in float and collected in double now and then.
    static bool collects(const Value& fold) { return fold.op == Op::Sum && is_float(fold.dtype) && fold.dtype != DType::Float64; }
    static bool to_index(const Value& fold) { return fold.op == Op::Argmax || fold.op == Op::Argmin; }
    std::string joined_type(const Value& fold) const {
        if (to_index(fold)) return fmt::format("Best<{}>", carrier_of(kernel_.values[fold.operands[0]].dtype));
        bool sums = fold.op == Op::Sum || fold.op == Op::Prod;
        return sums && is_float(fold.dtype) ? "double" : carrier_of(fold.dtype);
    }
    static const char* joiner(Op op) {
        switch (op) {
            case Op::Sum: return "Sum";
            case Op::Prod: return "Prod";
            case Op::Amax: return "Amax";
            case Op::Amin: return "Amin";
            case Op::Argmax: return "Argmax";
            case Op::Argmin: return "Argmin";
            case Op::Any: return "Any";
            default: return "All";
        }
    }
    std::string start_of(const Value& fold) const {
        if (to_index(fold)) {
            std::string extreme = start_of_extreme(kernel_.values[fold.operands[0]].dtype, fold.op == Op::Argmax);
            return fmt::format("{}{{{}, 9223372036854775807ll}}", joined_type(fold), extreme);
        }
        switch (fold.op) {
            case Op::Sum: return fmt::format("{}(0)", joined_type(fold));
            case Op::Prod: return fmt::format("{}(1)", joined_type(fold));
            case Op::Any: return "false";
            case Op::All: return "true";
            default: break;
        }
        return start_of_extreme(fold.dtype, fold.op == Op::Amax);
    }
    static std::string start_of_extreme(DType dtype, bool max) {
        if (dtype == DType::Bool) return max ? "false" : "true";
        if (is_float(dtype)) return number_text(loops::Scalar(max ? -HUGE_VAL : HUGE_VAL), dtype);
        if (dtype == DType::Int64) return max ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
        return max ? "(-2147483647 - 1)" : "2147483647";
    }

    void folds() {
        line("const i64 total = {};", index_text(launch_.points));
        line("const i64 length = {};", index_text(loops::product(kernel_.folded)));
        switch (fold_) {
            case Fold::Warp:
                line("constexpr int step = 32;");
                line("const i64 first = threadIdx.x % 32, last = length;");
                open("for (i64 t = blockIdx.x * 8ll + threadIdx.x / 32; t < total; t += gridDim.x * 8ll) {{");
                break;
            case Fold::Block:
                slice();
                line("constexpr int step = {};", launch_.threads_x);
                line("const i64 first = begin + threadIdx.x;");
                open("for (i64 t = blockIdx.x; t < total; t += gridDim.x) {{");
                break;
            case Fold::Columns:
                // All threads of a block come to the barriers, those past the end too; they fold nothing.
                slice();
                line("constexpr int step = {};", launch_.threads_y);
                open("for (i64 base = blockIdx.x * 32ll; base < total; base += gridDim.x * 32ll) {{");
                line("const bool live = base + threadIdx.x < total;");
                line("const i64 t = live ? base + threadIdx.x : base;");
                line("const i64 first = live ? begin + threadIdx.y : last;");
                break;
        }
        if (!kernel_.parallel.empty()) coordinates("t");
        for (uint32_t phase = 0; phase <= phases_; ++phase) {
            for (size_t i = 0; i < kernel_.values.size(); ++i) {
                const Placement& where = places_[i];
                bool now = where.used && !where.folded && where.phase == phase && kernel_.values[i].kind != Value::Fold;
                if (now) statement(static_cast<ValueId>(i));
            }
            pass(phase);
        }
        const char* one = fold_ == Fold::Columns ? "live && threadIdx.y == 0" : fold_ == Fold::Warp ? "threadIdx.x % 32 == 0" : "threadIdx.x == 0";
        bool any = false;
        for (const loops::Store& store : kernel_.stores) any = any || !stored_inside(store);
        if (any) {
            open("if ({}) {{", one);
            for (const loops::Store& store : kernel_.stores) {
                if (!stored_inside(store)) store_statement(store);
            }
            close();
        }
        close();
    }

    // The part of a row that is this block's.
    void slice() {
        if (launch_.folds == 0) {
            line("const i64 begin = 0, last = length;");
            return;
        }
        line("const i64 part = (length + gridDim.y - 1) / gridDim.y;");
        line("const i64 begin = blockIdx.y * part < length ? blockIdx.y * part : length;");
        line("const i64 last = begin + part < length ? begin + part : length;");
    }

    std::string block_call(const Value& fold, const std::string& text) const {
        switch (fold_) {
            case Fold::Warp: return fmt::format("warp_fold<{}>({})", joiner(fold.op), text);
            case Fold::Block: return fmt::format("block_fold<{}, {}>({}, {})", joiner(fold.op), joined_type(fold), text, start_of(fold));
            default: return fmt::format("column_fold<{}>({})", joiner(fold.op), text);
        }
    }

    // After the block's own folds, which are in w0, w1, ...: those of all blocks of the row.
    void join_blocks(const std::vector<ValueId>& folds) {
        bool columns = fold_ == Fold::Columns;
        open("if (gridDim.y > 1) {{");
        for (size_t i = 0; i < folds.size(); ++i) {
            line("i64* p{} = scratch + 2 * (({}ll * total + t) * gridDim.y);", folds[i], i);
        }
        open("if ({}) {{", columns ? "live && threadIdx.y == 0" : "threadIdx.x == 0");
        for (ValueId id : folds) line("to_scratch(p{0} + 2 * blockIdx.y, w{0});", id);
        close();
        line("if (!is_last(tickets + {})) continue;", columns ? "base / 32" : "t");
        for (ValueId id : folds) line("w{} = {};", id, start_of(kernel_.values[id]));
        line("{}", kOneByOne);
        open("for (unsigned y = threadIdx.{0}; y < gridDim.y; y += blockDim.{0}) {{", columns ? "y" : "x");
        for (ValueId id : folds) {
            const Value& fold = kernel_.values[id];
            line("w{0} = {1}::join(w{0}, from_scratch<{2}>(p{0} + 2 * y));", id, joiner(fold.op), joined_type(fold));
        }
        close();
        for (ValueId id : folds) line("w{0} = {1};", id, block_call(kernel_.values[id], fmt::format("w{}", id)));
        close();
    }

    // What happens to the element `at` of the row.
    void inside(const std::vector<bool>& needed, const std::vector<ValueId>& folds,
                const std::vector<const loops::Store*>& stores) {
        std::string rest = "at";
        for (size_t d = kernel_.folded.size(); d-- > 0;) {
            if (d == 0) {
                line("const i64 r0 = {};", rest);
                continue;
            }
            std::string size = index_text(kernel_.folded[d]);
            line("const i64 r{} = {} % ({});", d, rest, size);
            line("const i64 f{} = {} / ({});", d, rest, size);
            rest = fmt::format("f{}", d);
        }
        for (size_t i = 0; i < needed.size(); ++i) {
            if (needed[i]) statement(static_cast<ValueId>(i));
        }
        for (ValueId id : folds) {
            const Value& fold = kernel_.values[id];
            if (collects(fold)) {
                line("c{0} += v{1};", id, fold.operands[0]);
            } else if (to_index(fold)) {
                line("w{0} = {1}::join(w{0}, {2}{{v{3}, v{4}}});", id, joiner(fold.op), joined_type(fold), fold.operands[0],
                     fold.operands[1]);
            } else {
                line("w{0} = {1}::join(w{0}, static_cast<{2}>(v{3}));", id, joiner(fold.op), joined_type(fold), fold.operands[0]);
            }
        }
        for (const loops::Store* store : stores) store_statement(*store);
    }

    void pass(uint32_t phase) {
        std::vector<bool> needed(kernel_.values.size(), false);
        auto need = [&](auto& self, ValueId id) -> void {
            if (!places_[id].folded || needed[id]) return;
            needed[id] = true;
            for (ValueId operand : kernel_.values[id].inputs()) self(self, operand);
            std::vector<uint32_t> symbols;
            collect_symbols(kernel_.values[id].index, symbols);
            for (uint32_t s : symbols) {
                if (loops::kind_of(s) == loops::SymbolKind::Datum) self(self, s - loops::kDataBase);
            }
        };
        std::vector<ValueId> folds;
        std::vector<const loops::Store*> stores;
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Value& value = kernel_.values[i];
            if (value.kind == Value::Fold && places_[i].used && places_[i].phase == phase + 1) {
                folds.push_back(static_cast<ValueId>(i));
                for (ValueId operand : value.inputs()) need(need, operand);
            }
            bool raises = value.kind == Value::Bound || (value.kind == Value::Apply && value.mode && value.op != Op::Gelu);
            if (raises && places_[i].folded && places_[i].phase == phase) need(need, static_cast<ValueId>(i));
        }
        for (const loops::Store& store : kernel_.stores) {
            if (stored_inside(store) && pass_of(store) == phase) {
                stores.push_back(&store);
                need(need, store.value);
            }
        }
        bool anything = std::find(needed.begin(), needed.end(), true) != needed.end();
        if (folds.empty() && stores.empty() && !anything) return;
        bool chunks = false;
        for (ValueId id : folds) {
            const Value& fold = kernel_.values[id];
            line("{} w{} = {};", joined_type(fold), id, start_of(fold));
            chunks = chunks || collects(fold);
        }
        if (chunks) {
            open("for (i64 from = first; from < last; from += {} * step) {{", kChunk);
            line("const i64 stop = from + {0} * step < last ? from + {0} * step : last;", kChunk);
            for (ValueId id : folds) {
                if (collects(kernel_.values[id])) line("float c{} = 0.0f;", id);
            }
        }
        const char* stop = chunks ? "stop" : "last";
        std::string at = fmt::format("place{}", phase);
        line("i64 {} = {};", at, chunks ? "from" : "first");
        // Several elements on their way from memory at once.
        int together = kernel_.values.size() > 80 ? 1 : kernel_.values.size() > 24 ? 4 : 8;
        if (together > 1) {
            open("for (; {0} + {1} * step < {2}; {0} += {3} * step) {{", at, together - 1, stop, together);
            line("#pragma unroll");
            open("for (int k = 0; k < {}; ++k) {{", together);
            line("const i64 at = {} + k * step;", at);
            inside(needed, folds, stores);
            close();
            close();
        }
        if (together > 1) line("{}", kOneByOne);
        open("for (; {0} < {1}; {0} += step) {{", at, stop);
        line("const i64 at = {};", at);
        inside(needed, folds, stores);
        close();
        if (chunks) {
            for (ValueId id : folds) {
                if (collects(kernel_.values[id])) line("w{0} += static_cast<double>(c{0});", id);
            }
            close();
        }
        for (ValueId id : folds) {
            const Value& fold = kernel_.values[id];
            line("w{} = {};", id, block_call(fold, fmt::format("w{}", id)));
        }
        if (launch_.folds > 0) join_blocks(folds);
        for (ValueId id : folds) {
            const Value& fold = kernel_.values[id];
            std::string call = fmt::format("w{}", id);
            if (to_index(fold)) {
                line("const i64 v{} = {}.at;", id, call);
                continue;
            }
            line("const {0} v{1} = {2};", carrier_of(fold.dtype), id,
                 rounded(fmt::format("static_cast<{}>({})", carrier_of(fold.dtype), call), fold.dtype));
        }
    }

    const Kernel& kernel_;
    std::vector<Placement> places_;
    uint32_t phases_;
    Launch& launch_;
    std::vector<bool> by_value_;
    std::string text_;
    size_t indent_ = 1;
    Fold fold_ = Fold::Block;
};

}  // namespace

std::string prelude() {
    return
#include "inductor/cuda/prelude.inc"
        ;
}

std::string print(const Kernel& kernel, const std::string& name, Launch& launch, const std::vector<bool>& by_value) {
    return Printer(kernel, name, launch, by_value).run();
}

}  // namespace talc::inductor::cuda
