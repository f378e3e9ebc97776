// Errors of calls and of the device, with messages. A call that is refused leaves the machine as it was; an error of
// the device stays: every later call returns it too, as on CUDA.
#pragma once

#include <string>

#include "format.h"

namespace sim {

// Codes of the driver (CUresult) that the machine returns.
enum Code {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_HANDLE = 400,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_MERGE = 902,
    CAPTURE_UNMATCHED = 903,
    CAPTURE_UNJOINED = 904,
    CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    CAPTURE_WRONG_THREAD = 908
};

enum class Lasting { CALL, DEVICE };

struct Failure {
    Code code;
    std::string message;
    Lasting lasting;
};

// The device failed while a call waited: the call returns its error, which has been reported.
struct DeviceFailed { };

// This call is refused.
[[noreturn]] void refuse(Code code, const std::string& message);

// The device fails, for good.
[[noreturn]] void breakDevice(Code code, const std::string& message);

// Prints a failure, remembers its message for its code, and remembers an error of the device.
void report(const Failure& failure);

// The error that the device has, or SUCCESS.
Code deviceError();

// Forgets it.
void healDevice();

}  // namespace sim
