// Calls of functions, replaced by the statements that they execute.
#include "format.h"
#include "text.h"

namespace ptx {
namespace {

// Copies a function's statements with names of its own.
class Copy {
public:
    Copy(Function& caller, const Function& called, int number) : caller(caller), called(called),
        suffix(format("@call%d", number)) { }

    void bind(const std::vector<Variable>& formal, const Operand& actual) {
        for (size_t i = 0; i < formal.size(); ++i) {
            if (i >= actual.parts.size()) {
                throw Error("call of " + called.name + " with too few arguments");
            }
            bound[formal[i].name] = actual.parts[i].name;
        }
    }

    void append(std::vector<Statement>& to) {
        for (const auto& [name, bytes] : called.registers) {
            caller.registers[name + suffix] = bytes;
        }
        for (Statement statement : called.body) {
            if (!statement.label.empty()) {
                statement.label += suffix;
            }
            if (!statement.guard.empty()) {
                statement.guard += suffix;
            }
            for (Operand& operand : statement.operands) {
                rename(operand);
            }
            if (statement.opcode == "ret") {
                statement.opcode = "bra";
                statement.operands.push_back({Operand::NAME, "end" + suffix});
            }
            to.push_back(statement);
        }
        Statement end;
        end.label = "end" + suffix;
        to.push_back(end);
    }

private:
    Function& caller;
    const Function& called;
    std::string suffix;
    std::map<std::string, std::string> bound;

    void rename(Operand& operand) {
        for (Operand& part : operand.parts) {
            rename(part);
        }
        auto parameter = bound.find(operand.name);
        if (parameter != bound.end()) {
            operand.name = parameter->second;
        } else if (operand.kind == Operand::REGISTER || operand.kind == Operand::NAME
            || (operand.kind == Operand::ADDRESS && called.registers.count(operand.name) != 0)) {
            operand.name += suffix;
        }
    }
};

}  // namespace

void replaceCalls(Function& caller, const std::map<std::string, Function>& functions) {
    std::vector<Statement> body;
    int calls = 0;
    for (const Statement& statement : caller.body) {
        if (statement.opcode != "call.uni" && statement.opcode != "call") {
            body.push_back(statement);
            continue;
        }
        size_t name = statement.operands.at(0).kind == Operand::VECTOR ? 1 : 0;
        auto called = functions.find(statement.operands.at(name).name);
        if (called == functions.end() || !called->second.shared.empty()) {
            throw Error(format("line %d of the PTX: call of an unknown function %s", statement.line,
                statement.operands[name].name.c_str()));
        }
        Function inner = called->second;
        replaceCalls(inner, functions);
        Copy copy(caller, inner, ++calls);
        copy.bind(inner.results, name == 1 ? statement.operands[0] : Operand{});
        copy.bind(inner.parameters, statement.operands.size() > name + 1 ? statement.operands[name + 1] : Operand{});
        copy.append(body);
    }
    caller.body = body;
}

}  // namespace ptx
