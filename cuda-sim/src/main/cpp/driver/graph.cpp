#include "graph.h"

#include <map>

namespace sim {
namespace {

std::map<void*, std::unique_ptr<Graph>> graphs;
std::map<void*, std::unique_ptr<Executable>> executables;

void mark(Stream* stream, const char* name) {
    Task task;
    task.name = name;
    task.run = [] { };
    enqueue(stream, task);
}

// A node that cannot be launched fails the device, because the nodes before it are queued already.
void put(Stream* lane, const Task& task) {
    try {
        enqueue(lane, task);
    } catch (const Failure& failure) {
        breakDevice(failure.code, format("%s on %s: %s", task.name.c_str(), lane->title.c_str(),
            failure.message.c_str()));
    }
}

template <typename Map>
typename Map::mapped_type::pointer checked(const Map& map, void* handle, const char* what) {
    auto found = map.find(handle);
    if (found == map.end()) {
        refuse(INVALID_VALUE, std::string("no ") + what + ", or a destroyed one");
    }
    return found->second.get();
}

template <typename Map>
void erase(Map& map, int device) {
    std::erase_if(map, [&](auto& entry) { return entry.second->device == device; });
}

}  // namespace

Graph* keep(std::unique_ptr<Graph> graph) {
    Graph* kept = graph.get();
    graphs[kept] = std::move(graph);
    return kept;
}

Graph* checkedGraph(void* handle) {
    return checked(graphs, handle, "graph");
}

void destroyGraph(Graph* graph) {
    graphs.erase(graph);
}

Executable* instantiate(const Graph& graph) {
    static int count = 0;
    ++count;
    auto made = std::make_unique<Executable>();
    made->device = graph.device;
    made->nodes = graph.nodes;
    std::map<Stream*, Stream*> lanes;
    for (const Node& node : graph.nodes) {
        Stream*& lane = lanes[node.stream];
        if (lane == nullptr) {
            lane = newStream(node.stream->device, Order::NON_BLOCKING);
            lane->title = format("%s of graph %d", node.stream->title.c_str(), count);
            lane->live = false;
            made->streams.push_back(lane);
        }
        made->lanes.push_back(lane);
    }
    Executable* kept = made.get();
    executables[kept] = std::move(made);
    return kept;
}

Executable* checkedExecutable(void* handle) {
    return checked(executables, handle, "executable graph");
}

void destroyExecutable(Executable* executable) {
    executables.erase(executable);
}

void launchGraph(Executable& executable, Stream* stream) {
    wait(stream, executable.ended);
    mark(stream, "start of a graph");
    Event started = reachedBy(stream);
    std::vector<Event> done;
    for (size_t i = 0; i < executable.nodes.size(); ++i) {
        const Node& node = executable.nodes[i];
        Stream* lane = executable.lanes[i];
        wait(lane, started);
        for (size_t before : node.after) {
            wait(lane, done[before]);
        }
        put(lane, node.task);
        done.push_back(reachedBy(lane));
    }
    for (Stream* lane : executable.streams) {
        wait(stream, reachedBy(lane));
    }
    mark(stream, "end of a graph");
    executable.ended = reachedBy(stream);
}

void dropGraphs(int device) {
    erase(executables, device);
    erase(graphs, device);
}

}  // namespace sim
