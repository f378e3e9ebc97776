#include "tokens.h"

#include <algorithm>
#include <cctype>

namespace ptx {
namespace {

bool inWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

}  // namespace

std::vector<Token> tokens(const std::string& text) {
    std::vector<Token> found;
    int line = 1;
    for (size_t i = 0; i < text.size();) {
        size_t start = i;
        if (text.compare(i, 2, "//") == 0) {
            i = std::min(text.find('\n', i), text.size());
        } else if (text[i] == '"') {
            i = std::min(text.find('"', i + 1), text.size() - 1) + 1;
        } else if (inWord(text[i])) {
            while (i < text.size() && inWord(text[i])) {
                ++i;
            }
            found.push_back({std::string_view(text).substr(start, i - start), line});
        } else {
            line += text[i] == '\n';
            if (!std::isspace(static_cast<unsigned char>(text[i]))) {
                found.push_back({std::string_view(text).substr(start, 1), line});
            }
            ++i;
        }
    }
    return found;
}

}  // namespace ptx
