// A PTX text as statements, with calls of functions replaced by their bodies. The PTX ISA's chapters 4 and 5.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "machine.h"

namespace ptx {

struct Operand {
    enum Kind { REGISTER, NUMBER, SPECIAL, NAME, ADDRESS, VECTOR, SINK };
    Kind kind = SINK;
    std::string name;              // of a register, a special register, a label or a variable; of an address: its base
    uint64_t value = 0;            // bits of a number; offset of an address
    int bytes = 0;                 // of a floating-point number; 0: an integer
    std::vector<Operand> parts{};  // of a vector
};

struct Statement {
    int line = 0;
    std::string label;     // if it is one; else
    std::string guard;     // predicate under which it is executed, or none
    bool negated = false;  // ... or under whose complement
    std::string opcode;    // with all modifiers
    std::vector<Operand> operands;
};

struct Variable {
    std::string name;
    size_t bytes = 0;
    size_t alignment = 1;
};

struct Function {
    std::string name;
    bool entry = false;
    std::vector<Variable> parameters;
    std::vector<Variable> results;
    std::map<std::string, int> registers;  // bytes of each; 0: a predicate
    std::vector<Variable> shared;
    std::vector<Statement> body;
    int mostThreads = 1024;  // in a block
};

struct Text {
    std::string title;              // the first line's comment
    int target = 0;                 // 90 for sm_90
    std::vector<Function> entries;  // whose calls are replaced by what they call
    std::vector<Variable> shared;   // of the module
    std::string dynamicShared;      // name of the unsized array, or none
    size_t dynamicAlignment = 1;
};

// Throws an Error naming the line of what it does not know.
Text parse(const std::string& text);

// Replaces calls; see above.
void replaceCalls(Function& caller, const std::map<std::string, Function>& functions);

}  // namespace ptx
