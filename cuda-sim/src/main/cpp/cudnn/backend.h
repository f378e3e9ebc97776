// The types of cuDNN's backend interface, as far as attention needs them. Values are those of cudnn_graph.h 9.19.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#define CUDNN_API extern "C" __attribute__((visibility("default")))

namespace cudnn {

enum Status {
    SUCCESS = 0,
    NOT_INITIALIZED = 1001,
    BAD_PARAM = 2000,
    NULL_POINTER = 2002,
    MISALIGNED_POINTER = 2003,
    NOT_FINALIZED = 2004,
    OUT_OF_BOUND = 2005,
    SHAPE_MISMATCH = 2008,
    DUPLICATED_ENTRIES = 2009,
    ATTRIBUTE_TYPE = 2010,
    DESCRIPTOR_TYPE = 2012,
    NOT_SUPPORTED = 3000,
    NOT_SUPPORTED_SHAPE = 3002,
    NOT_SUPPORTED_DATA_TYPE = 3003,
    NOT_SUPPORTED_LAYOUT = 3004,
    EXECUTION_FAILED = 5000
};

// cudnnBackendDescriptorType_t
enum Kind { ENGINE = 2, ENGINE_CONFIG = 3, HEURISTIC = 4, PLAN = 5, GRAPH = 15, PACK = 16, TENSOR = 17, FORWARD = 41,
    BACKWARD = 43 };

// cudnnBackendAttributeType_t
enum Type { HANDLE = 0, DATA_TYPE = 1, BOOLEAN = 2, INT64 = 3, VOID_PTR = 6, HEUR_MODE = 8, NUMERICAL_NOTE = 11,
    DESCRIPTOR = 15 };

// cudnnDataType_t
enum Data { F32 = 0, F16 = 2, BF16 = 9 };

// cudnnBackendHeurMode_t and cudnnBackendNumericalNote_t
enum Mode { MODE_A = 3, FALLBACK = 2 };
enum Note { TENSOR_CORE = 0, NONDETERMINISTIC = 4 };

// cudnnBackendAttributeName_t
enum Attribute { HEUR_MODE_USED = 200, HEUR_GRAPH = 201, HEUR_RESULTS = 202, CONFIG_ENGINE = 300, PLAN_HANDLE = 400,
    PLAN_CONFIG = 401, PLAN_WORKSPACE = 402, GRAPH_HANDLE = 800, GRAPH_OPERATIONS = 801, ALIGNMENT = 900,
    ELEMENT_TYPE = 901, EXTENTS = 902, STRIDES = 903, UNIQUE_ID = 906, IS_VIRTUAL = 907, IS_BY_VALUE = 908,
    PACK_IDS = 1000, PACK_POINTERS = 1001, PACK_WORKSPACE = 1003, ENGINE_NOTES = 1303, FORWARD_Q = 2800,
    FORWARD_K = 2801, FORWARD_V = 2802, FORWARD_O = 2803, FORWARD_STATS = 2804, FORWARD_SCALE = 2805,
    BACKWARD_Q = 2851, BACKWARD_K = 2852, BACKWARD_V = 2853, BACKWARD_O = 2854, BACKWARD_STATS = 2855,
    BACKWARD_SCALE = 2856, BACKWARD_DQ = 2859, BACKWARD_DK = 2860, BACKWARD_DV = 2861, BACKWARD_DO = 2862 };

struct Descriptor;
using Shared = std::shared_ptr<const Descriptor>;

// A value that was set: numbers (also pointers and enumerations), and for descriptors what they were at that time.
struct Value {
    std::vector<int64_t> numbers;
    std::vector<Shared> descriptors;
};

struct Descriptor {
    Kind kind;
    bool complete = false;
    std::map<int, Value> values;
    int engine = 0;  // of an engine, a configuration and what the heuristic returns: its number

    bool has(int attribute) const { return values.count(attribute) != 0; }
    int64_t number(int attribute) const { return values.at(attribute).numbers.at(0); }
    const std::vector<int64_t>& numbers(int attribute) const { return values.at(attribute).numbers; }
    const Shared& descriptor(int attribute) const { return values.at(attribute).descriptors.at(0); }
};

struct Handle {
    void* stream = nullptr;
};

}  // namespace cudnn
