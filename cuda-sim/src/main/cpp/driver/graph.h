// Graphs and their launches. A launch queues the nodes on internal streams, one for each captured stream, with the
// captured order between them. The checks are those of all streams.
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

// Queues a whole graph on a stream as one operation, after the graph's previous launch.
void launchGraph(Executable& executable, Stream* stream);

// Destroys the graphs of a device.
void dropGraphs(int device);

}  // namespace sim
