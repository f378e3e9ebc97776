// Errors of calls and of the device, with messages. A refused call changes nothing. An error of the device is sticky:
// every later call returns it too, as in CUDA.
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

// Thrown when the device failed while a call waited. The call returns the device's error, which is already reported.
struct DeviceFailed { };

// Refuses the call.
[[noreturn]] void refuse(Code code, const std::string& message);

// Fails the device.
[[noreturn]] void breakDevice(Code code, const std::string& message);

// Prints a failure, stores its message for its code, and sets the error of the device if it is one.
void report(const Failure& failure);

// The error of the device, or SUCCESS.
Code deviceError();

// Clears the error of the device.
void healDevice();

}  // namespace sim
