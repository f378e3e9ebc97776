// The words of a PTX text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptx {

struct Token {
    std::string_view text;  // a word with its dots, a number, or one character
    int line;
};

// The tokens without comments; the text outlives them.
std::vector<Token> tokens(const std::string& text);

}  // namespace ptx
