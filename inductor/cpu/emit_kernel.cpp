// Loops. Values stand at the depth of the innermost loop that they need, so nothing is computed twice in a loop that
// does not change it. The innermost loop runs over vectors, then over what is left, one by one.
//
// A fold's innermost loop is the vector loop when its operands lie along it; when they lie along the innermost parallel
// loop (sums of columns), each lane folds for itself. Sums of floats are collected in double every few hundred elements.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>

#include "inductor/cpu/emit.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cpu {

using graph::DimAtom;
using graph::DimTerm;
using llvm::BasicBlock;
using llvm::Type;
using loops::Dim;
using loops::DType;
using loops::Kernel;
using loops::Op;
using loops::Placement;
using loops::ValueId;
using V = llvm::Value*;

namespace {

constexpr int64_t kRowChunk = 64;      // vectors summed in float before they are collected in double
constexpr int64_t kColumnChunk = 128;  // rows

class Emitter {
  public:
    Emitter(llvm::Module& module, const Kernel& kernel, const Target& target)
        : module_(module), kernel_(kernel), build_(module.getContext()), places_(place(kernel)),
          phases_(phase_count(kernel, places_)), at_(kernel.values.size(), nullptr) {
        choose_vectors(target);
    }

    void run() {
        pieces_ = folds_in_pieces(kernel_);
        begin_function("kernel");
        if (!pieces_) {
            parallel_loop(0);
            build_.CreateRetVoid();
            return;
        }
        fold_begin_ = function_->getArg(2);
        fold_end_ = function_->getArg(3);
        emit_level(0);
        nest(0, 1);
        build_.CreateRetVoid();
        begin_function("finish");
        fold_begin_ = fold_end_ = nullptr;
        finish();
        build_.CreateRetVoid();
    }

  private:
    void begin_function(const char* name) {
        Type* pointer = build_.getPtrTy();
        Type* i64 = build_.getInt64Ty();
        auto* type = llvm::FunctionType::get(build_.getVoidTy(), {pointer, pointer, i64, i64, pointer}, false);
        function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
        function_->setDoesNotThrow();
        entry_ = BasicBlock::Create(module_.getContext(), "entry", function_);
        build_.SetInsertPoint(entry_);
        params_.clear();
        buffers_.clear();
        for (size_t i = 0; i < kernel_.params.size(); ++i) {
            params_.push_back(build_.CreateLoad(i64, build_.CreateConstInBoundsGEP1_64(i64, function_->getArg(0), i)));
        }
        for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
            V slot = build_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(1), i);
            buffers_.push_back(build_.CreateLoad(pointer, slot));
        }
        if (pieces_) {
            V place = build_.CreateConstInBoundsGEP1_64(pointer, function_->getArg(1), kernel_.buffers.size());
            slot_ = build_.CreateLoad(pointer, place);
        }
        parallel_.assign(kernel_.parallel.size(), nullptr);
        folded_.assign(kernel_.folded.size(), nullptr);
    }

    // Joins slots [0, end) and does what comes after the folds.
    void finish() {
        emit_level(0);
        size_t cells = cells_of(kernel_);
        std::vector<Accumulator> folds;
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const loops::Value& value = kernel_.values[i];
            if (value.kind != loops::Value::Fold || !places_[i].used) continue;
            Type* type = carrier_type(build_, joined_dtype(value), 1);
            Accumulator a{static_cast<ValueId>(i), joined_dtype(value), false};
            a.single = variable(type, start_of(value, a.joined, type));
            folds.push_back(a);
        }
        loop(whole(0), function_->getArg(3), 1, [&](V piece) {
            for (size_t k = 0; k < folds.size(); ++k) {
                V cell = build_.CreateAdd(build_.CreateMul(piece, whole(static_cast<int64_t>(cells))), whole(static_cast<int64_t>(k)));
                V place = build_.CreateInBoundsGEP(build_.getInt64Ty(), slot_, cell);
                Type* type = carrier_type(build_, folds[k].joined, 1);
                collect(folds[k].single, kernel_.values[folds[k].fold], folds[k].joined, build_.CreateLoad(type, place));
            }
        });
        for (Accumulator& a : folds) {
            V sum = build_.CreateLoad(carrier_type(build_, a.joined, 1), a.single);
            at_[a.fold] = as_result(a, sum);
        }
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Placement& where = places_[i];
            bool is_fold = kernel_.values[i].kind == loops::Value::Fold;
            if (where.used && !where.folded && !is_fold && where.phase == 1) at_[i] = emit(static_cast<ValueId>(i));
        }
        for (const loops::Store& store : kernel_.stores) {
            if (!stored_inside(store)) emit_store(store);
        }
    }

    // ---- which loop is the vector's ---------------------------------------------------------------------------
    void choose_vectors(const Target& target) {
        bool wide = false;
        for (const loops::Value& value : kernel_.values) {
            wide = wide || value.dtype == DType::Float64 || (value.dtype == DType::Int64 && value.kind == loops::Value::Load);
        }
        unsigned lanes = std::clamp(target.vector_bytes / 4 * 2, 8u, 16u);
        lanes_ = wide ? lanes / 2 : lanes;
        if (kernel_.folded.empty()) {
            along_parallel_ = !kernel_.parallel.empty();
            return;
        }
        uint32_t row = loops::kFoldBase + static_cast<uint32_t>(kernel_.folded.size()) - 1;
        uint32_t column = loops::kVarBase + static_cast<uint32_t>(kernel_.parallel.size()) - 1;
        int along_row = 0, along_column = 0;
        auto look = [&](Dim index) {
            auto is_one = [&](uint32_t var) {
                auto linear = loops::linear_in(index, var);
                return linear && linear->coefficient == Dim(1);
            };
            along_row += is_one(row);
            along_column += !kernel_.parallel.empty() && is_one(column);
        };
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            if (kernel_.values[i].kind == loops::Value::Load && places_[i].folded) look(kernel_.values[i].index);
        }
        for (const loops::Store& store : kernel_.stores) {
            if (stored_inside(store)) look(store.index);
        }
        along_parallel_ = along_column > along_row;
        lanes_ = std::min(16u, lanes_ * 2);
    }

    bool stored_inside(const loops::Store& store) const {
        std::vector<uint32_t> symbols;
        collect_symbols(store.index, symbols);
        return places_[store.value].folded || std::any_of(symbols.begin(), symbols.end(), [](uint32_t s) {
                   return loops::kind_of(s) == loops::SymbolKind::Folded;
               });
    }

    // ---- loops ------------------------------------------------------------------------------------------------
    V whole(int64_t value) { return build_.getInt64(static_cast<uint64_t>(value)); }

    template <class Body>
    void loop(V begin, V end, int64_t step, Body&& body) {
        auto& context = module_.getContext();
        BasicBlock* before = build_.GetInsertBlock();
        auto* head = BasicBlock::Create(context, "loop", function_);
        auto* after = BasicBlock::Create(context, "after", function_);
        build_.CreateCondBr(build_.CreateICmpSLT(begin, end), head, after);
        build_.SetInsertPoint(head);
        llvm::PHINode* index = build_.CreatePHI(build_.getInt64Ty(), 2);
        index->addIncoming(begin, before);
        body(static_cast<V>(index));
        V next = build_.CreateNSWAdd(index, whole(step));
        index->addIncoming(next, build_.GetInsertBlock());
        build_.CreateCondBr(build_.CreateICmpSLT(next, end), head, after);
        build_.SetInsertPoint(after);
    }

    // body(index, lanes) for whole vectors, then for single elements.
    template <class Body>
    void vector_loop(V begin, V end, Body&& body) {
        V length = build_.CreateSub(end, begin);
        V whole_part = build_.CreateAnd(length, whole(-static_cast<int64_t>(lanes_)));
        V middle = build_.CreateAdd(begin, whole_part);
        loop(begin, middle, lanes_, [&](V index) { body(index, lanes_); });
        loop(middle, end, 1, [&](V index) { body(index, 1u); });
    }

    void parallel_loop(size_t depth) {
        emit_level(depth);
        if (depth == kernel_.parallel.size()) return point(1);
        V begin = depth == 0 ? function_->getArg(2) : whole(0);
        V end = depth == 0 ? function_->getArg(3) : index_of(kernel_.parallel[depth]);
        bool inner = depth + 1 == kernel_.parallel.size();
        if (inner && along_parallel_) {
            vector_loop(begin, end, [&](V index, unsigned lanes) {
                parallel_[depth] = index;
                lane_var_ = loops::kVarBase + static_cast<uint32_t>(depth);
                width_ = lanes;
                emit_level(depth + 1);
                point(lanes);
                width_ = 1;
                lane_var_ = 0;
            });
        } else {
            loop(begin, end, 1, [&](V index) {
                parallel_[depth] = index;
                parallel_loop(depth + 1);
            });
        }
    }

    // Values that need just the loops so far, and no fold.
    void emit_level(size_t depth) {
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const Placement& where = places_[i];
            if (where.used && !where.folded && where.phase == 0 && where.depth == depth) {
                at_[i] = emit(static_cast<ValueId>(i));
            }
        }
    }

    // All of one point of the parallel loops (or `lanes` of them).
    void point(unsigned lanes) {
        if (kernel_.folded.empty()) {
            for (const loops::Store& store : kernel_.stores) emit_store(store);
            return;
        }
        for (uint32_t phase = 0; phase <= phases_; ++phase) {
            if (phase > 0) {
                for (size_t i = 0; i < kernel_.values.size(); ++i) {
                    const Placement& where = places_[i];
                    bool is_fold = kernel_.values[i].kind == loops::Value::Fold;
                    if (where.used && !where.folded && !is_fold && where.phase == phase) {
                        at_[i] = emit(static_cast<ValueId>(i));
                    }
                }
            }
            nest(phase, lanes);
        }
        for (const loops::Store& store : kernel_.stores) {
            if (!stored_inside(store)) emit_store(store);
        }
    }

    // ---- folds ------------------------------------------------------------------------------------------------
    struct Accumulator {
        ValueId fold;
        DType joined;        // the dtype of the sum (or extreme) itself
        bool chunked;        // in float first
        V lanes = nullptr;   // vector, or one for each point
        V chunk = nullptr;
        V single = nullptr;  // of the elements left over
        V lanes_at = nullptr, single_at = nullptr;  // of argmax and argmin: where the extreme was
    };

    static bool to_index(const loops::Value& fold) { return fold.op == Op::Argmax || fold.op == Op::Argmin; }

    DType joined_dtype(const loops::Value& fold) const {
        if (to_index(fold)) return kernel_.values[fold.operands[0]].dtype;
        bool sums = fold.op == Op::Sum || fold.op == Op::Prod;
        return sums && is_float(fold.dtype) ? DType::Float64 : fold.dtype;
    }

    V start_of(const loops::Value& fold, DType dtype, Type* type) {
        using llvm::ConstantFP, llvm::ConstantInt;
        switch (fold.op) {
            case Op::Sum:
            case Op::Any: return llvm::Constant::getNullValue(type);
            case Op::Prod:
            case Op::All: return constant_like(build_, type, 1);
            default: break;
        }
        bool max = fold.op == Op::Amax || fold.op == Op::Argmax;
        if (is_float(dtype)) return ConstantFP::getInfinity(type, max);
        if (dtype == DType::Bool) return max ? llvm::Constant::getNullValue(type) : llvm::Constant::getAllOnesValue(type);
        unsigned bits = type->getScalarSizeInBits();
        return ConstantInt::get(type, max ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
    }

    V join(const loops::Value& fold, DType dtype, V a, V b) {
        bool floating = is_float(dtype), bit = dtype == DType::Bool;
        switch (fold.op) {
            case Op::Sum: return floating ? build_.CreateFAdd(a, b) : bit ? build_.CreateOr(a, b) : build_.CreateAdd(a, b);
            case Op::Prod: return floating ? build_.CreateFMul(a, b) : bit ? build_.CreateAnd(a, b) : build_.CreateMul(a, b);
            case Op::Any: return build_.CreateOr(a, b);
            case Op::All: return build_.CreateAnd(a, b);
            default: break;
        }
        bool max = fold.op == Op::Amax;
        if (bit) return max ? build_.CreateOr(a, b) : build_.CreateAnd(a, b);
        auto id = floating ? (max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum)
                           : (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin);
        return build_.CreateBinaryIntrinsic(id, a, b);
    }

    // Whether (x, at) goes before (best, best_at): nan before all, then the extreme, then the lesser place.
    V beats(const loops::Value& fold, DType dtype, V x, V at, V best, V best_at) {
        bool max = fold.op == Op::Argmax;
        V better, tie;
        if (is_float(dtype)) {
            V new_nan = build_.CreateFCmpUNO(x, x), old_nan = build_.CreateFCmpUNO(best, best);
            V beyond = max ? build_.CreateFCmpOGT(x, best) : build_.CreateFCmpOLT(x, best);
            better = build_.CreateAnd(build_.CreateNot(old_nan), build_.CreateOr(new_nan, beyond));
            tie = build_.CreateOr(build_.CreateAnd(new_nan, old_nan), build_.CreateFCmpOEQ(x, best));
        } else if (dtype == DType::Bool) {
            better = max ? build_.CreateICmpUGT(x, best) : build_.CreateICmpULT(x, best);
            tie = build_.CreateICmpEQ(x, best);
        } else {
            better = max ? build_.CreateICmpSGT(x, best) : build_.CreateICmpSLT(x, best);
            tie = build_.CreateICmpEQ(x, best);
        }
        return build_.CreateOr(better, build_.CreateAnd(tie, build_.CreateICmpSLT(at, best_at)));
    }

    void collect_place(V place, V place_at, const loops::Value& fold, DType dtype, V x, V at) {
        V best = build_.CreateLoad(x->getType(), place), best_at = build_.CreateLoad(at->getType(), place_at);
        V wins = beats(fold, dtype, x, at, best, best_at);
        build_.CreateStore(build_.CreateSelect(wins, x, best), place);
        build_.CreateStore(build_.CreateSelect(wins, at, best_at), place_at);
    }

    V variable(Type* type, V start) {
        llvm::IRBuilder<> at_entry(entry_, entry_->getFirstInsertionPt());
        V place = at_entry.CreateAlloca(type);
        build_.CreateStore(start, place);
        return place;
    }

    void collect(V place, const loops::Value& fold, DType dtype, V value) {
        V old = build_.CreateLoad(value->getType(), place);
        build_.CreateStore(join(fold, dtype, old, value), place);
    }

    // One pass over the folded loops: the folds of this phase, and stores whose values are known by now.
    void nest(uint32_t phase, unsigned lanes) {
        std::vector<Accumulator> accumulators;
        std::vector<const loops::Store*> stores;
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
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const loops::Value& value = kernel_.values[i];
            bool folds_now = value.kind == loops::Value::Fold && places_[i].used && places_[i].phase == phase + 1;
            if (folds_now) {
                DType joined = joined_dtype(value);
                bool chunked = value.op == Op::Sum && joined == DType::Float64 && value.dtype != DType::Float64;
                accumulators.push_back({static_cast<ValueId>(i), joined, chunked});
                for (ValueId operand : value.inputs()) need(need, operand);
            }
            // Checks are made in the first pass in which they can be.
            bool raises = value.kind == loops::Value::Bound ||
                          (value.kind == loops::Value::Apply && value.mode && value.op != Op::Gelu);
            if (raises && places_[i].folded && places_[i].phase == phase) need(need, static_cast<ValueId>(i));
        }
        for (const loops::Store& store : kernel_.stores) {
            if (stored_inside(store) && pass_of(store) == phase) {
                stores.push_back(&store);
                need(need, store.value);
            }
        }
        bool anything = std::find(needed.begin(), needed.end(), true) != needed.end();
        if (accumulators.empty() && stores.empty() && !anything) return;

        bool across = !along_parallel_;  // vectors run over the folded loop
        unsigned width = across ? lanes_ : lanes;
        bool chunks = false;
        for (Accumulator& a : accumulators) {
            const loops::Value& fold = kernel_.values[a.fold];
            Type* type = carrier_type(build_, a.joined, width);
            a.lanes = variable(type, start_of(fold, a.joined, type));
            if (a.chunked) {
                Type* narrow = carrier_type(build_, DType::Float32, width);
                a.chunk = variable(narrow, llvm::Constant::getNullValue(narrow));
                chunks = true;
            }
            if (across) {
                Type* scalar = carrier_type(build_, a.joined, 1);
                a.single = variable(scalar, start_of(fold, a.joined, scalar));
            }
            if (to_index(fold)) {
                auto nowhere = [&](unsigned lanes_here) {
                    Type* place = carrier_type(build_, DType::Int64, lanes_here);
                    return variable(place, llvm::ConstantInt::get(place, llvm::APInt::getSignedMaxValue(64)));
                };
                a.lanes_at = nowhere(width);
                if (across) a.single_at = nowhere(1);
            }
        }
        folded_loop(0, accumulators, stores, needed, lanes, chunks);
        for (size_t k = 0; k < accumulators.size(); ++k) {
            V sum = total(accumulators[k], width, across);
            if (pieces_) {
                build_.CreateStore(sum, build_.CreateConstInBoundsGEP1_64(build_.getInt64Ty(), slot_, k));
            } else {
                at_[accumulators[k].fold] = as_result(accumulators[k], sum);
            }
        }
    }

    // A store to a buffer that is loaded too must wait until all loads are done.
    uint32_t pass_of(const loops::Store& store) const {
        for (size_t i = 0; i < kernel_.values.size(); ++i) {
            const loops::Value& value = kernel_.values[i];
            if (value.kind == loops::Value::Load && value.buffer == store.buffer && places_[i].used) return phases_;
        }
        return places_[store.value].phase;
    }

    void folded_loop(size_t depth, std::vector<Accumulator>& accumulators, const std::vector<const loops::Store*>& stores,
                     const std::vector<bool>& needed, unsigned lanes, bool chunks) {
        V begin = depth == 0 && fold_begin_ ? fold_begin_ : whole(0);
        V end = depth == 0 && fold_end_ ? fold_end_ : index_of(kernel_.folded[depth]);
        if (depth + 1 < kernel_.folded.size()) {
            loop(begin, end, 1, [&](V index) {
                folded_[depth] = index;
                folded_loop(depth + 1, accumulators, stores, needed, lanes, chunks);
            });
            return;
        }
        auto body = [&](V index, unsigned width, bool single) {
            folded_[depth] = index;
            if (!along_parallel_) {
                lane_var_ = loops::kFoldBase + static_cast<uint32_t>(depth);
                width_ = width;
            }
            for (size_t i = 0; i < needed.size(); ++i) {
                if (needed[i]) at_[i] = emit(static_cast<ValueId>(i));
            }
            for (Accumulator& a : accumulators) add_element(a, single);
            for (const loops::Store* store : stores) emit_store(*store);
            if (!along_parallel_) {
                lane_var_ = 0;
                width_ = 1;
            }
        };
        int64_t step = along_parallel_ ? 1 : lanes_;
        V whole_part = build_.CreateAnd(build_.CreateSub(end, begin), whole(-static_cast<int64_t>(lanes_)));
        V middle = along_parallel_ ? end : build_.CreateAdd(begin, whole_part);
        if (chunks) {
            int64_t chunk = along_parallel_ ? kColumnChunk : kRowChunk * static_cast<int64_t>(lanes_);
            loop(begin, middle, chunk, [&](V from) {
                V limit = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, build_.CreateAdd(from, whole(chunk)), middle);
                loop(from, limit, step, [&](V index) { body(index, along_parallel_ ? lanes : lanes_, false); });
                for (Accumulator& a : accumulators) flush(a);
            });
        } else {
            loop(begin, middle, step, [&](V index) { body(index, along_parallel_ ? lanes : lanes_, false); });
        }
        if (!along_parallel_) loop(middle, end, 1, [&](V index) { body(index, 1, true); });
    }

    void add_element(Accumulator& a, bool single) {
        const loops::Value& fold = kernel_.values[a.fold];
        const loops::Value& operand = kernel_.values[fold.operands[0]];
        unsigned width = along_parallel_ ? width_ : single ? 1 : lanes_;
        V x = widened(at_[fold.operands[0]], width);
        if (to_index(fold)) {
            V at = widened(at_[fold.operands[1]], width);
            collect_place(single ? a.single : a.lanes, single ? a.single_at : a.lanes_at, fold, a.joined, x, at);
            return;
        }
        bool direct = a.chunked && !single;
        if (!direct && operand.dtype != a.joined) x = emit_convert(build_, x, operand.dtype, a.joined);
        V place = direct ? a.chunk : single ? a.single : a.lanes;
        collect(place, fold, direct ? DType::Float32 : a.joined, x);
    }

    void flush(Accumulator& a) {
        if (!a.chunked) return;
        const loops::Value& fold = kernel_.values[a.fold];
        Type* narrow = llvm::cast<llvm::AllocaInst>(a.chunk)->getAllocatedType();
        V x = build_.CreateLoad(narrow, a.chunk);
        collect(a.lanes, fold, a.joined, emit_convert(build_, x, DType::Float32, a.joined));
        build_.CreateStore(llvm::Constant::getNullValue(narrow), a.chunk);
    }

    V total(Accumulator& a, unsigned width, bool across) {
        const loops::Value& fold = kernel_.values[a.fold];
        V sum = build_.CreateLoad(carrier_type(build_, a.joined, width), a.lanes);
        if (to_index(fold)) return place_of_extreme(a, width, across, sum);
        if (across) {
            for (unsigned half = width / 2; half >= 1; half /= 2) {
                llvm::SmallVector<int, 32> low, high;
                for (unsigned i = 0; i < half; ++i) {
                    low.push_back(static_cast<int>(i));
                    high.push_back(static_cast<int>(i + half));
                }
                sum = join(fold, a.joined, build_.CreateShuffleVector(sum, low), build_.CreateShuffleVector(sum, high));
            }
            sum = build_.CreateExtractElement(sum, uint64_t{0});
            sum = join(fold, a.joined, sum, build_.CreateLoad(sum->getType(), a.single));
        }
        return sum;
    }

    V place_of_extreme(Accumulator& a, unsigned width, bool across, V best) {
        const loops::Value& fold = kernel_.values[a.fold];
        V at = build_.CreateLoad(carrier_type(build_, DType::Int64, width), a.lanes_at);
        if (!across) return at;
        V first = build_.CreateLoad(carrier_type(build_, a.joined, 1), a.single);
        V first_at = build_.CreateLoad(build_.getInt64Ty(), a.single_at);
        for (unsigned lane = 0; lane < width; ++lane) {
            V x = build_.CreateExtractElement(best, uint64_t{lane}), x_at = build_.CreateExtractElement(at, uint64_t{lane});
            V wins = beats(fold, a.joined, x, x_at, first, first_at);
            first = build_.CreateSelect(wins, x, first);
            first_at = build_.CreateSelect(wins, x_at, first_at);
        }
        return first_at;
    }

    V as_result(const Accumulator& a, V sum) {
        if (to_index(kernel_.values[a.fold])) return sum;
        DType dtype = kernel_.values[a.fold].dtype;
        return a.joined == dtype ? emit_round(build_, sum, dtype) : emit_convert(build_, sum, a.joined, dtype);
    }

    // ---- values -----------------------------------------------------------------------------------------------
    V widened(V x, unsigned width) {
        if (width == 1 || x->getType()->isVectorTy()) return x;
        return build_.CreateVectorSplat(width, x);
    }

    V emit(ValueId id) {
        const loops::Value& value = kernel_.values[id];
        switch (value.kind) {
            case loops::Value::Load: return emit_load(value);
            case loops::Value::Number: return emit_number(value);
            case loops::Value::Index: return emit_index(value.index);
            case loops::Value::Bound: return emit_bound(value);
            case loops::Value::Random:
                return emit_random(build_, value.op, at_[value.operands[0]], at_[value.operands[1]], emit_index(value.index));
            case loops::Value::Apply: return emit_operator(value);
            case loops::Value::Fold: break;
        }
        tensor::fail("a fold outside of its loops");
    }

    V emit_number(const loops::Value& value) {
        Type* type = carrier_type(build_, value.dtype, 1);
        if (is_float(value.dtype)) return llvm::ConstantFP::get(type, value.number.to_double());
        return llvm::ConstantInt::get(type, static_cast<uint64_t>(value.number.i), true);
    }

    V emit_operator(const loops::Value& value) {
        unsigned width = 1;
        for (ValueId operand : value.inputs()) width = std::max(width, lanes_of(at_[operand]->getType()));
        llvm::SmallVector<V, 3> x;
        for (ValueId operand : value.inputs()) x.push_back(widened(at_[operand], width));
        DType operand = kernel_.values[value.operands[value.operand_count - 1u]].dtype;
        bool divides = value.op == Op::FloorDiv || value.op == Op::Remainder;
        if (divides && value.mode) {
            V zero = build_.CreateICmpEQ(x[1], llvm::Constant::getNullValue(x[1]->getType()));
            report(zero, value.site, x[1], whole(0));
        }
        return emit_apply(build_, value, operand, std::span<V const>(x.data(), x.size()));
    }

    V emit_bound(const loops::Value& value) {
        V index = at_[value.operands[0]];
        unsigned width = lanes_of(index->getType());
        V limit = index_of(value.index);
        V size = widened(limit, width);
        V zero = llvm::Constant::getNullValue(index->getType());
        V negative = build_.CreateICmpSLT(index, zero);
        V wrapped = value.mode ? build_.CreateSelect(negative, build_.CreateAdd(index, size), index) : index;
        V wrong = build_.CreateICmpUGE(wrapped, size);
        report(wrong, value.site, index, limit);
        return build_.CreateSelect(wrong, zero, wrapped);
    }

    // Writes the error word if any lane says so.
    void report(V wrong, uint32_t site, V value, V size) {
        auto& context = module_.getContext();
        unsigned width = lanes_of(wrong->getType());
        V any = width == 1 ? wrong : build_.CreateOrReduce(wrong);
        auto* cold = BasicBlock::Create(context, "wrong", function_);
        auto* on = BasicBlock::Create(context, "on", function_);
        build_.CreateCondBr(any, cold, on);
        build_.SetInsertPoint(cold);
        V first = width == 1 ? value : build_.CreateExtractElement(value, uint64_t{width - 1});
        for (unsigned lane = width; width > 1 && lane-- > 0;) {
            first = build_.CreateSelect(build_.CreateExtractElement(wrong, uint64_t{lane}),
                                        build_.CreateExtractElement(value, uint64_t{lane}), first);
        }
        Type* i64 = build_.getInt64Ty();
        V word = function_->getArg(4);
        build_.CreateStore(build_.CreateSExtOrTrunc(first, i64), build_.CreateConstInBoundsGEP1_64(i64, word, 1));
        build_.CreateStore(size, build_.CreateConstInBoundsGEP1_64(i64, word, 2));
        build_.CreateStore(whole(static_cast<int64_t>(site) + 1), word);
        build_.CreateBr(on);
        build_.SetInsertPoint(on);
    }

    // ---- memory -----------------------------------------------------------------------------------------------
    struct Address {
        enum Kind { Uniform, Consecutive, Scattered } kind;
        V index;            // of the first lane, or one for each
    };

    Address address_of(Dim index) {
        if (width_ == 1) return {Address::Uniform, scalar(index_of(index))};
        auto linear = lane_var_ ? loops::linear_in(index, lane_var_) : std::nullopt;
        bool by_data = false;
        std::vector<uint32_t> symbols;
        collect_symbols(index, symbols);
        for (uint32_t s : symbols) {
            by_data = by_data || (loops::kind_of(s) == loops::SymbolKind::Datum &&
                                  at_[s - loops::kDataBase]->getType()->isVectorTy());
        }
        if (linear && !by_data) {
            if (linear->coefficient == Dim(0)) return {Address::Uniform, index_of(index)};
            if (linear->coefficient == Dim(1)) return {Address::Consecutive, index_of(index)};
        }
        return {Address::Scattered, widened(emit_index(index), width_)};
    }

    V scalar(V x) { return x; }

    V pointer(uint32_t buffer, V index) {
        Type* type = memory_type(build_, kernel_.buffers[buffer].dtype);
        return build_.CreateInBoundsGEP(type, buffers_[buffer], index);
    }

    V emit_load(const loops::Value& value) {
        Type* type = memory_type(build_, value.dtype);
        llvm::Align align(size_of(value.dtype));
        Address address = address_of(value.index);
        switch (address.kind) {
            case Address::Uniform:
                return from_memory(build_, build_.CreateAlignedLoad(type, pointer(value.buffer, address.index), align),
                                   value.dtype);
            case Address::Consecutive: {
                Type* vector = llvm::FixedVectorType::get(type, width_);
                return from_memory(build_, build_.CreateAlignedLoad(vector, pointer(value.buffer, address.index), align),
                                   value.dtype);
            }
            case Address::Scattered: break;
        }
        V all = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, width_));
        for (unsigned lane = 0; lane < width_; ++lane) {
            V place = pointer(value.buffer, build_.CreateExtractElement(address.index, uint64_t{lane}));
            all = build_.CreateInsertElement(all, build_.CreateAlignedLoad(type, place, align), uint64_t{lane});
        }
        return from_memory(build_, all, value.dtype);
    }

    void emit_store(const loops::Store& store) {
        DType dtype = kernel_.buffers[store.buffer].dtype;
        llvm::Align align(size_of(dtype));
        Address address = address_of(store.index);
        V x = at_[store.value];
        if (width_ == 1 || address.kind == Address::Uniform) {
            build_.CreateAlignedStore(to_memory(build_, x, dtype), pointer(store.buffer, address.index), align);
            return;
        }
        x = to_memory(build_, widened(x, width_), dtype);
        if (address.kind == Address::Consecutive) {
            build_.CreateAlignedStore(x, pointer(store.buffer, address.index), align);
            return;
        }
        for (unsigned lane = 0; lane < width_; ++lane) {
            V place = pointer(store.buffer, build_.CreateExtractElement(address.index, uint64_t{lane}));
            build_.CreateAlignedStore(build_.CreateExtractElement(x, uint64_t{lane}), place, align);
        }
    }

    // ---- index expressions ------------------------------------------------------------------------------------
    V symbol(uint32_t id) {
        switch (loops::kind_of(id)) {
            case loops::SymbolKind::Size: return params_[id];
            case loops::SymbolKind::Parallel: return parallel_[id - loops::kVarBase];
            case loops::SymbolKind::Folded: return folded_[id - loops::kFoldBase];
            case loops::SymbolKind::Datum: return at_[id - loops::kDataBase];
            case loops::SymbolKind::Stride: break;
        }
        tensor::fail("a stride in a finished kernel");
    }

    // At the first lane.
    V index_of(Dim expr) { return polynomial(expr, false); }
    // At every lane, as a vector where they differ.
    V emit_index(Dim expr) { return polynomial(expr, width_ > 1); }

    V with_lanes(uint32_t id, bool vectors) {
        V x = symbol(id);
        if (!vectors || id != lane_var_) return x;
        llvm::SmallVector<uint64_t, 16> steps;
        for (unsigned lane = 0; lane < width_; ++lane) steps.push_back(lane);
        V iota = llvm::ConstantDataVector::get(module_.getContext(), llvm::ArrayRef<uint64_t>(steps));
        return build_.CreateAdd(build_.CreateVectorSplat(width_, x), iota);
    }

    template <class F>
    V both(V a, V b, F&& f) {
        unsigned width = std::max(lanes_of(a->getType()), lanes_of(b->getType()));
        return f(widened(a, width), widened(b, width));
    }

    V polynomial(Dim expr, bool vectors) {
        if (expr.is_constant()) return whole(expr.constant());
        V sum = nullptr;
        for (const DimTerm& term : expr.expr()->terms) {
            V product = nullptr;
            for (const DimAtom* atom : term.atoms) {
                V factor;
                if (atom->kind == DimAtom::Symbol) {
                    factor = with_lanes(atom->symbol, vectors);
                } else {
                    // Neither is ever negative.
                    V a = polynomial(atom->a, vectors), b = polynomial(atom->b, vectors);
                    bool quotient = atom->kind == DimAtom::FloorDiv;
                    factor = both(a, b, [&](V x, V y) { return quotient ? build_.CreateUDiv(x, y) : build_.CreateURem(x, y); });
                }
                product = product ? both(product, factor, [&](V x, V y) { return build_.CreateMul(x, y); }) : factor;
            }
            if (!product) {
                product = whole(term.factor);
            } else if (term.factor != 1) {
                product = both(product, whole(term.factor), [&](V x, V y) { return build_.CreateMul(x, y); });
            }
            sum = sum ? both(sum, product, [&](V x, V y) { return build_.CreateAdd(x, y); }) : product;
        }
        return sum;
    }

    llvm::Module& module_;
    const Kernel& kernel_;
    llvm::IRBuilder<> build_;
    llvm::Function* function_ = nullptr;
    BasicBlock* entry_ = nullptr;
    std::vector<Placement> places_;
    uint32_t phases_;
    std::vector<V> at_;  // values, valid in the loops that they stand in
    std::vector<V> params_, buffers_, parallel_, folded_;
    V slot_ = nullptr;             // of a piece, see folds_in_pieces
    V fold_begin_ = nullptr, fold_end_ = nullptr;  // of the outermost folded loop; null: all of it
    bool pieces_ = false;
    unsigned lanes_ = 8;           // of a vector
    bool along_parallel_ = false;  // vectors run along the innermost parallel loop
    unsigned width_ = 1;           // of what is emitted now
    uint32_t lane_var_ = 0;        // the variable along which lanes differ now
};

}  // namespace

bool folds_in_pieces(const Kernel& kernel) {
    if (!kernel.parallel.empty() || kernel.folded.empty()) return false;
    std::vector<Placement> places = place(kernel);
    if (phase_count(kernel, places) != 1) return false;
    for (const loops::Value& value : kernel.values) {
        if (value.kind == loops::Value::Fold && (value.op == Op::Argmax || value.op == Op::Argmin)) return false;
    }
    for (const loops::Store& store : kernel.stores) {
        std::vector<uint32_t> symbols;
        collect_symbols(store.index, symbols);
        bool inside = places[store.value].folded || std::any_of(symbols.begin(), symbols.end(), [](uint32_t s) {
                          return loops::kind_of(s) == loops::SymbolKind::Folded;
                      });
        bool loaded = false;
        for (const loops::Value& value : kernel.values) {
            loaded = loaded || (value.kind == loops::Value::Load && value.buffer == store.buffer);
        }
        if (inside && (places[store.value].phase > 0 || loaded)) return false;
    }
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        if (places[i].used && places[i].folded && places[i].phase > 0) return false;
    }
    return true;
}

size_t cells_of(const Kernel& kernel) {
    std::vector<Placement> places = place(kernel);
    size_t cells = 0;
    for (size_t i = 0; i < kernel.values.size(); ++i) cells += kernel.values[i].kind == loops::Value::Fold && places[i].used;
    return cells;
}

void emit_kernel(llvm::Module& module, const Kernel& kernel, const Target& target) {
    Emitter(module, kernel, target).run();
}

}  // namespace talc::inductor::cpu
