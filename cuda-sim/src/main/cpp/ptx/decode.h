// From statements to instructions.
#pragma once

#include <memory>

#include "text.h"
#include "warp.h"

namespace ptx {

std::unique_ptr<Kernel> decode(const Function& function, const Text& text);

// Sets where the lanes of each branch meet: the nearest instruction through which all ways to the end lead.
void setMeetings(std::vector<Instruction>& code);

}  // namespace ptx
