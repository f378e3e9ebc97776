// Graphs and their launches. A launch puts the nodes on streams of the graph's own, one for each stream that was
// captured: what orders them is what was captured, and the checks are those of all streams.
#pragma once

#include <memory>
#include <vector>

#include "capture.h"

namespace sim {

struct Executable {
    int device;
    std::deque<Node> nodes;
    std::vector<Stream*> lanes;  // of each node
    std::vector<Stream*> streams;
    Event ended;                 // the last launch
};

Graph* keep(std::unique_ptr<Graph> graph);
Graph* checkedGraph(void* handle);
void destroyGraph(Graph* graph);

Executable* instantiate(const Graph& graph);
Executable* checkedExecutable(void* handle);
void destroyExecutable(Executable* executable);

// Puts all of a graph on a stream, as one operation, after the graph's previous launch.
void launchGraph(Executable& executable, Stream* stream);

// Destroys the graphs of a device.
void dropGraphs(int device);

}  // namespace sim
