#include "text.h"

#include <cstdlib>

#include "format.h"
#include "tokens.h"

namespace ptx {
namespace {

class Parser {
public:
    Parser(const std::string& text, std::vector<Token> tokens) : tokens(std::move(tokens)) {
        if (text.rfind("//", 0) == 0) {
            result.title = text.substr(2, text.find('\n') - 2);
            result.title.erase(0, result.title.find_first_not_of(' '));
        }
    }

    Text parse() {
        while (at < tokens.size()) {
            statementOfModule();
        }
        for (auto& [name, function] : functions) {
            if (function.entry) {
                replaceCalls(function, functions);
                result.entries.push_back(function);
            }
        }
        return result;
    }

private:
    std::vector<Token> tokens;
    size_t at = 0;
    Text result;
    std::map<std::string, Function> functions;
    Function* function = nullptr;                            // the one whose body is read
    std::vector<std::map<std::string, std::string>> scopes;  // registers: the name of each, made unique
    int renamed = 0;

    [[noreturn]] void fail(const std::string& what) const {
        int line = at < tokens.size() ? tokens[at].line : tokens.empty() ? 0 : tokens.back().line;
        throw Error(format("line %d of the PTX: %s", line, what.c_str()));
    }

    std::string peek() const { return at < tokens.size() ? std::string(tokens[at].text) : ""; }

    std::string next() {
        if (at >= tokens.size()) {
            fail("ends too early");
        }
        return std::string(tokens[at++].text);
    }

    bool skip(const char* token) {
        bool found = peek() == token;
        at += found ? 1 : 0;
        return found;
    }

    void need(const char* token) {
        if (!skip(token)) {
            fail(format("%s is expected, not %s", token, peek().c_str()));
        }
    }

    // ---- declarations ----

    static int bytesOf(const std::string& type) {
        if (type == ".pred") {
            return 0;
        }
        size_t digit = type.find_first_of("0123456789");
        return digit == std::string::npos ? -1 : atoi(type.c_str() + digit) / 8;
    }

    void statementOfModule() {
        std::string word = next();
        if (word == ".version" || word == ".address_size") {
            next();
        } else if (word == ".target") {
            result.target = atoi(next().c_str() + 3);
        } else if (word == ".visible" || word == ".weak" || word == ".extern") {
            // the linkage of what follows
        } else if (word == ".entry" || word == ".func") {
            readFunction(word == ".entry");
        } else if (word == ".shared") {
            shared(result.shared);
        } else if (word == ".global") {  // constants that the code does not use: naming one is an error
            while (!skip(";")) {
                next();
            }
        } else {
            --at;
            fail("unknown directive " + word);
        }
    }

    Variable variable() {
        Variable read;
        if (skip(".align")) {
            read.alignment = strtoull(next().c_str(), nullptr, 10);
        }
        int bytes = bytesOf(next());
        read.name = next();
        read.bytes = static_cast<size_t>(bytes);
        read.alignment = std::max<size_t>(read.alignment, bytes);
        return read;
    }

    void shared(std::vector<Variable>& variables) {
        Variable read = variable();
        if (skip("[")) {
            if (skip("]")) {
                result.dynamicShared = read.name;
                result.dynamicAlignment = read.alignment;
                need(";");
                return;
            }
            read.bytes *= strtoull(next().c_str(), nullptr, 10);
            need("]");
        }
        need(";");
        variables.push_back(read);
    }

    std::vector<Variable> parameters() {
        std::vector<Variable> read;
        need("(");
        while (!skip(")")) {
            need(".param");
            read.push_back(variable());
            skip(",");
        }
        return read;
    }

    void readFunction(bool entry) {
        Function read;
        read.entry = entry;
        if (!entry && peek() == "(") {
            read.results = parameters();
        }
        read.name = next();
        if (peek() == "(") {
            read.parameters = parameters();
        }
        while (peek() != "{" && peek() != ";") {
            std::string directive = next();
            if (directive == ".maxntid") {
                read.mostThreads = atoi(next().c_str());
                while (skip(",")) {
                    read.mostThreads *= atoi(next().c_str());
                }
            } else if (directive == ".minnctapersm") {
                next();
            } else {
                fail("unknown directive " + directive);
            }
        }
        if (skip(";")) {
            return;
        }
        function = &(functions[read.name] = read);
        body();
    }

    // ---- bodies ----

    void body() {
        scopes.assign(1, {});
        need("{");
        while (!scopes.empty()) {
            if (skip("{")) {
                scopes.emplace_back();
            } else if (skip("}")) {
                scopes.pop_back();
            } else if (skip(".reg")) {
                registers();
            } else if (skip(".shared")) {
                shared(function->shared);
            } else if (skip(".param")) {
                Variable parameter = variable();
                declare(parameter.name, static_cast<int>(parameter.bytes));
                need(";");
            } else if (skip(".pragma")) {  // advice to the assembler; its text is no token
                need(";");
            } else if (at + 1 < tokens.size() && tokens[at + 1].text == ":") {
                Statement label;
                label.line = tokens[at].line;
                label.label = next();
                next();
                function->body.push_back(label);
            } else {
                instruction();
            }
        }
    }

    void declare(const std::string& name, int bytes) {
        std::string unique = scopes.size() == 1 ? name : format("%s@%d", name.c_str(), ++renamed);
        scopes.back()[name] = unique;
        function->registers[unique] = bytes;
    }

    void registers() {
        int bytes = bytesOf(next());
        if (bytes < 0) {
            fail("unknown type of a register");
        }
        do {
            std::string name = next();
            if (skip("<")) {
                int count = atoi(next().c_str());
                for (int i = 0; i < count; ++i) {
                    declare(name + std::to_string(i), bytes);
                }
                need(">");
            } else {
                declare(name, bytes);
            }
        } while (skip(","));
        need(";");
    }

    const std::string* unique(const std::string& name) const {
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
            auto found = scope->find(name);
            if (found != scope->end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    void instruction() {
        Statement read;
        read.line = tokens[at].line;
        if (skip("@")) {
            read.negated = skip("!");
            Operand guard = operand();
            read.guard = guard.name;
        }
        read.opcode = next();
        while (!skip(";")) {
            read.operands.push_back(operand());
            skip(",");
        }
        function->body.push_back(read);
    }

    Operand list(const char* end) {
        Operand read;
        read.kind = Operand::VECTOR;
        while (!skip(end)) {
            read.parts.push_back(operand());
            skip(",");
        }
        return read;
    }

    Operand address() {
        Operand read = operand();
        uint64_t offset = 0;
        if (skip("+")) {
            offset = operand().value;
        }
        need("]");
        if (read.kind == Operand::NUMBER) {
            fail("an address without a base");
        }
        read.kind = Operand::ADDRESS;
        read.value = offset;
        return read;
    }

    Operand operand() {
        if (skip("{")) {
            return list("}");
        }
        if (skip("(")) {
            return list(")");
        }
        if (skip("[")) {
            return address();
        }
        bool negative = skip("-");
        std::string word = next();
        Operand read;
        if (isdigit(static_cast<unsigned char>(word[0]))) {
            read.kind = Operand::NUMBER;
            bool single = word.size() == 10 && word[1] == 'f';
            bool wide = word.size() == 18 && word[1] == 'd';
            read.bytes = single ? 4 : wide ? 8 : 0;
            char* end = nullptr;
            read.value = single || wide ? strtoull(word.c_str() + 2, &end, 16) : strtoull(word.c_str(), &end, 0);
            if (*end != 0 && *end != 'U') {
                fail("unknown number " + word);
            }
            read.value = negative ? -read.value : read.value;
            return read;
        }
        if (word == "_") {
            return read;
        }
        const std::string* name = unique(word);
        read.kind = name != nullptr ? Operand::REGISTER : word[0] == '%' ? Operand::SPECIAL : Operand::NAME;
        read.name = name != nullptr ? *name : word;
        if (skip("|")) {
            Operand pair;
            pair.kind = Operand::VECTOR;
            pair.parts = {read, operand()};
            return pair;
        }
        return read;
    }
};

}  // namespace

Text parse(const std::string& text) {
    return Parser(text, tokens(text)).parse();
}

}  // namespace ptx
