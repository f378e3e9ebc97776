#include "decode.h"

#include <algorithm>
#include <unordered_map>

#include "format.h"

namespace ptx {
namespace {

constexpr size_t RESERVED = 1024;  // bytes of shared memory at address 0, which belong to the system
constexpr const char* BRANCHES[] = {"bra", "bra.uni"};

const std::unordered_map<std::string, Meaning>& meanings() {
    static const std::unordered_map<std::string, Meaning> all = [] {
        std::unordered_map<std::string, Meaning> read;
        for (const Meanings& some : {integerMeanings(), floatMeanings(), compareMeanings(), convertMeanings(),
                moveMeanings(), memoryMeanings(), warpMeanings(), matrixMeanings(), flowMeanings()}) {
            for (const auto& [opcode, meaning] : some) {
                read[opcode] = meaning;
            }
        }
        return read;
    }();
    return all;
}

int bytesOf(char letter) {
    switch (letter) {
        case 'p': return 0;
        case 'h': return 2;
        case 'l': case 'd': case 'g': return 8;
        default: return 4;
    }
}

class Decoder {
public:
    Decoder(const Function& function, const Text& text) : function(function), text(text) { }

    std::unique_ptr<Kernel> decode() {
        kernel->name = function.name;
        kernel->target = text.target;
        kernel->info.mostThreads = function.mostThreads;
        for (const Variable& parameter : function.parameters) {
            kernel->info.parameters.push_back(parameter.bytes);
        }
        placeShared();
        registers();
        for (const Statement& statement : function.body) {
            if (!statement.label.empty()) {
                labels[statement.label] = static_cast<int>(kernel->code.size());
            } else {
                instruction(statement);
            }
        }
        Instruction end;
        end.run = meanings().at("ret").run;
        end.counted = Class::BRANCH;
        kernel->code.push_back(end);  // in case a label stands last
        finish();
        return std::move(kernel);
    }

private:
    const Function& function;
    const Text& text;
    std::unique_ptr<Kernel> kernel = std::make_unique<Kernel>();
    std::unordered_map<std::string, uint32_t> places;  // of registers: row or number of the predicate
    std::unordered_map<std::string, size_t> variables; // in shared memory
    std::map<std::pair<uint64_t, int>, uint32_t> constants;
    std::map<std::string, uint32_t> others;            // rows of special registers and of parameters
    std::unordered_map<std::string, int> labels;
    std::vector<std::pair<size_t, std::string>> jumps; // instructions and their labels
    std::vector<size_t> firstOperand;                  // of each instruction
    const Statement* present = nullptr;

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(format("kernel %s, line %d of the PTX, %s: %s", function.name.c_str(), present->line,
            present->opcode.c_str(), what.c_str()));
    }

    void placeShared() {
        kernel->sharedBase = RESERVED;
        size_t end = RESERVED;
        for (const auto* list : {&text.shared, &function.shared}) {
            for (const Variable& variable : *list) {
                end = (end + variable.alignment - 1) / variable.alignment * variable.alignment;
                variables[variable.name] = end;
                end += variable.bytes;
            }
        }
        kernel->info.staticShared = end - RESERVED;
        kernel->dynamicBase = (end + text.dynamicAlignment - 1) / text.dynamicAlignment * text.dynamicAlignment;
        if (!text.dynamicShared.empty()) {
            variables[text.dynamicShared] = kernel->dynamicBase;
        }
    }

    uint32_t newRow(int bytes) {
        uint32_t row = static_cast<uint32_t>(kernel->rowBytes);
        kernel->rowBytes += bytes == 8 ? 2 * ROW : ROW;
        return row;
    }

    void registers() {
        for (const auto& [name, bytes] : function.registers) {
            places[name] = bytes == 0 ? static_cast<uint32_t>(kernel->predicates++) : newRow(bytes);
        }
    }

    uint32_t constant(uint64_t bits, int bytes) {
        auto [found, fresh] = constants.try_emplace({bits, bytes}, 0);
        if (fresh) {
            found->second = newRow(bytes);
            kernel->constants.push_back({found->second, bits, bytes});
        }
        return found->second;
    }

    uint32_t special(const std::string& name) {
        auto [found, fresh] = others.try_emplace(name, 0);
        if (fresh) {
            found->second = newRow(4);
            kernel->specials.push_back({found->second, name});
        }
        return found->second;
    }

    uint32_t parameter(const std::string& name, int bytes) {
        auto [found, fresh] = others.try_emplace(name, 0);
        if (fresh) {
            size_t number = 0;
            while (number < function.parameters.size() && function.parameters[number].name != name) {
                ++number;
            }
            if (number == function.parameters.size() || function.parameters[number].bytes != size_t(bytes)) {
                fail("no parameter " + name + " of this size");
            }
            found->second = newRow(bytes);
            kernel->parameters.push_back({found->second, number, bytes});
        }
        return found->second;
    }

    uint32_t registerOf(const std::string& name, int bytes) {
        auto type = function.registers.find(name);
        if (type == function.registers.end() || type->second != bytes) {
            fail(format("operand %s has not %d bits", name.c_str(), 8 * bytes));
        }
        return places.at(name);
    }

    uint32_t address(const Operand& operand, char letter, Instruction& made) {
        if (operand.kind != Operand::ADDRESS) {
            fail("an address is expected");
        }
        if (operand.value != 0 && made.offset != 0) {
            fail("two addresses with offsets");
        }
        made.offset += static_cast<int64_t>(operand.value);
        auto variable = variables.find(operand.name);
        if (variable != variables.end() && letter == 's') {
            return constant(variable->second, 4);
        }
        return registerOf(operand.name, bytesOf(letter));
    }

    uint32_t operandOf(const Operand& operand, char letter, Instruction& made) {
        int bytes = bytesOf(letter);
        switch (operand.kind) {
            case Operand::REGISTER: return registerOf(operand.name, bytes);
            case Operand::NUMBER: return number(operand, letter, made);
            case Operand::SPECIAL: return bytes == 4 ? special(operand.name) : (fail("special register"), 0u);
            case Operand::SINK:
                return letter == 'p' ? static_cast<uint32_t>(kernel->predicates++) : newRow(bytes);
            case Operand::NAME: {
                auto variable = variables.find(operand.name);
                if (variable == variables.end()) {
                    fail("unknown name " + operand.name);
                }
                return constant(variable->second, bytes);
            }
            default: fail("an operand of another kind is expected");
        }
    }

    uint32_t number(const Operand& operand, char letter, Instruction& made) {
        int bytes = bytesOf(letter);
        if (letter == 'i') {
            made.offset = static_cast<int64_t>(operand.value);
            return 0;
        }
        if (letter == 'p') {
            kernel->truths.emplace_back(kernel->predicates, operand.value != 0 ? ALL : 0);
            return static_cast<uint32_t>(kernel->predicates++);
        }
        if ((operand.bytes != 0 && operand.bytes != bytes)
            || (operand.bytes == 0 && (letter == 'f' || letter == 'd'))) {
            fail("a number of another type is expected");
        }
        return constant(bytes == 8 ? operand.value : operand.value & ((1ull << 8 * bytes) - 1), bytes);
    }

    static void flatten(const std::vector<Operand>& from, std::vector<const Operand*>& to) {
        for (const Operand& operand : from) {
            if (operand.kind == Operand::VECTOR) {
                flatten(operand.parts, to);
            } else {
                to.push_back(&operand);
            }
        }
    }

    // The opcode by which the meaning is found: some are told apart by the form of their operands.
    std::string key(const Statement& statement) const {
        const auto& operands = statement.operands;
        bool branch = std::find(std::begin(BRANCHES), std::end(BRANCHES), statement.opcode) != std::end(BRANCHES);
        if (branch && !statement.guard.empty()) {
            return statement.negated ? "bra unless" : "bra if";
        }
        if (statement.opcode.rfind("mov.b", 0) == 0 && operands.size() == 2) {
            bool packs = operands[1].kind == Operand::VECTOR;
            bool unpacks = operands[0].kind == Operand::VECTOR;
            return statement.opcode + (packs ? " pack" : unpacks ? " unpack" : "");
        }
        if (statement.opcode.rfind("shfl.", 0) == 0 && operands[0].kind != Operand::VECTOR) {
            return statement.opcode + " alone";
        }
        if (statement.opcode == "ld.global.u16" && widthOf(operands[0]) == 4) {
            return "ld.global.u16 extended";
        }
        if (statement.opcode == "ld.shared.u32" && widthOf(operands[0]) == 8) {
            return "ld.shared.u32 extended";
        }
        if (statement.opcode == "cvt.s64.s32" && widthOf(operands[1]) == 8) {
            return "cvt.s64.s32 cut";
        }
        return statement.opcode;
    }

    int widthOf(const Operand& operand) const {
        auto found = function.registers.find(operand.name);
        return found == function.registers.end() ? -1 : found->second;
    }

    void instruction(const Statement& statement) {
        present = &statement;
        if (statement.opcode.rfind("ld.param.", 0) == 0 || statement.opcode.rfind("st.param.", 0) == 0) {
            parameterAccess(statement);
            return;
        }
        std::string opcode = key(statement);
        auto meaning = meanings().find(opcode);
        if (meaning == meanings().end()) {
            fail("this instruction is not known");
        }
        std::vector<const Operand*> operands;
        Operand guard{Operand::REGISTER, statement.guard};
        bool branch = opcode.rfind("bra ", 0) == 0;
        if (branch) {
            operands.push_back(&guard);
        }
        flatten(statement.operands, operands);
        std::string letters = meaning->second.operands;
        if (operands.size() != letters.size()) {
            fail(format("%zu operands where %zu are expected", operands.size(), letters.size()));
        }
        Instruction made;
        made.run = meaning->second.run;
        made.counted = meaning->second.counted;
        firstOperand.push_back(kernel->operands.size());
        for (size_t i = 0; i < letters.size(); ++i) {
            if (letters[i] == 't') {
                jumps.emplace_back(kernel->code.size(), operands[i]->name);
            } else {
                bool address = letters[i] == 's' || letters[i] == 'g';
                kernel->operands.push_back(address ? this->address(*operands[i], letters[i], made)
                    : operandOf(*operands[i], letters[i], made));
            }
        }
        if (!branch && !statement.guard.empty()) {
            made.guard = static_cast<int32_t>(registerOf(statement.guard, 0));
            made.negated = statement.negated;
        }
        made.line = statement.line;
        kernel->code.push_back(made);
    }

    // Parameters are rows: of the launch, or registers where a call has been replaced.
    void parameterAccess(const Statement& statement) {
        bool load = statement.opcode[0] == 'l';
        const Operand& value = statement.operands.at(load ? 0 : 1);
        const Operand& at = statement.operands.at(load ? 1 : 0);
        int bytes = atoi(statement.opcode.c_str() + statement.opcode.find_first_of("0123456789")) / 8;
        if ((bytes != 4 && bytes != 8) || at.value != 0) {
            fail("this parameter is not known");
        }
        bool inner = function.registers.count(at.name) != 0;
        if (!inner && !load) {
            fail("a store to a parameter of the launch");
        }
        Instruction made;
        uint32_t there = inner ? registerOf(at.name, bytes) : parameter(at.name, bytes);
        bool extended = load && bytes == 4 && widthOf(value) == 8;
        uint32_t here = operandOf(value, bytes == 4 && !extended ? 'w' : 'l', made);
        bool sign = statement.opcode.find(".s") != std::string::npos;
        made.run = meanings().at(extended ? (sign ? "cvt.s64.s32" : "cvt.u64.u32") : bytes == 4 ? "mov.u32"
            : "mov.u64").run;
        made.counted = Class::MOVE;
        made.line = statement.line;
        firstOperand.push_back(kernel->operands.size());
        kernel->operands.push_back(load ? here : there);
        kernel->operands.push_back(load ? there : here);
        kernel->code.push_back(made);
    }

    void finish() {
        firstOperand.push_back(kernel->operands.size());
        for (size_t i = 0; i < kernel->code.size(); ++i) {
            kernel->code[i].at = kernel->operands.data() + firstOperand[i];
        }
        for (const auto& [index, label] : jumps) {
            auto found = labels.find(label);
            if (found == labels.end()) {
                throw Error(format("kernel %s: no label %s", function.name.c_str(), label.c_str()));
            }
            kernel->code[index].target = found->second;
        }
        setMeetings(kernel->code);
    }
};

}  // namespace

std::unique_ptr<Kernel> decode(const Function& function, const Text& text) {
    return Decoder(function, text).decode();
}

}  // namespace ptx
