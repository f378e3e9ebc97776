// The real NVRTC, which compiles to PTX if ISOBAR_SIM_NVRTC names its library.
#pragma once

#include "program.h"

namespace simrtc {

// Whether the real one compiles: not a program with -DSIM_CXX, which asks for the C++ version.
bool realCompiles(const Options& options);

// Compiles for the virtual architecture of the same number. The program's object becomes the PTX, behind a line that
// names the file and its definitions.
Result compileReal(Program& program, const Options& options, int count, const char* const* given);

}  // namespace simrtc
