// Text as printf writes it, for messages.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    char text[4096];
    vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}
