#include <cctype>

#include "program.h"

namespace simrtc {
namespace {

bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The position after the parenthesis that closes the one at `open`.
size_t closing(const std::string& text, size_t open) {
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0) {
            return i + 1;
        }
    }
    return text.size();
}

std::string definition(const std::string& kernel, const std::string& bounds) {
    return "extern \"C\" { extern __attribute__((visibility(\"default\"))) const SimKernel sim_kernel_" + kernel + ";\n"
        "const SimKernel sim_kernel_" + kernel + " = SimEntry<&" + kernel + ">::describe(" + bounds + "); }\n";
}

// The entry of the kernel whose mark stands at `mark`: its name is the first word before a parenthesis that is neither
// an attribute nor the bounds within one. Empty if it is only declared.
std::string entry(const std::string& text, size_t mark) {
    static const std::string BOUNDS = "sim_launch_bounds((";
    std::string bounds;
    size_t i = mark;
    while (i < text.size() && text[i] != ')') {  // the rest of the mark's own attribute
        i = text[i] == '(' ? closing(text, i) : i + 1;
    }
    while (i < text.size() && text[i] != ';' && text[i] != '{') {
        if (!isWord(text[i])) {
            ++i;
            continue;
        }
        size_t end = i;
        while (end < text.size() && isWord(text[end])) {
            ++end;
        }
        std::string word = text.substr(i, end - i);
        size_t next = text.find_first_not_of(" \t\r\n", end);
        i = end;
        if (next == std::string::npos || text[next] != '(') {
            continue;
        }
        size_t after = closing(text, next);
        if (word == "__attribute__") {
            size_t found = text.find(BOUNDS, next);
            if (found < after) {
                size_t open = found + BOUNDS.size() - 1;
                bounds = text.substr(open + 1, closing(text, open) - open - 2);
            }
            i = after;
            continue;
        }
        size_t body = text.find_first_not_of(" \t\r\n", after);
        bool defined = body != std::string::npos && text[body] == '{';
        return defined ? definition(word, bounds) : "";
    }
    return "";
}

}  // namespace

std::string entriesOf(const std::string& preprocessed) {
    static const std::string MARK = "__attribute__((sim_kernel";
    std::string entries;
    for (size_t at = preprocessed.find(MARK); at != std::string::npos; at = preprocessed.find(MARK, at + 1)) {
        entries += entry(preprocessed, at + MARK.size());
    }
    return entries;
}

}  // namespace simrtc
