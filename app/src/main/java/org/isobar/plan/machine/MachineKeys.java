package org.isobar.plan.machine;

import java.util.List;

/** The numbers that every machine file has. */
public final class MachineKeys {
    /** Ranks of a node; on a CPU the most that are planned for. */
    public static final String RANKS_PER_NODE = "ranks_per_node";
    /** Cores of a node that the ranks share; not used for GPUs. */
    public static final String CORES = "cores";
    /** Memory of a GPU, or of a node without GPUs, in GiB. */
    public static final String MEMORY = "memory_gb";
    /** Memory that the driver takes, in GiB; estimated. */
    public static final String DRIVER = "driver_gb";
    /** Memory of one communicator, in GiB; estimated. */
    public static final String COMMUNICATOR = "communicator_gb";
    /** Bandwidth of memory, in GB/s. */
    public static final String BANDWIDTH = "bandwidth_gbs";
    /** Part of the bandwidth that memory-bound operations reach. */
    public static final String BANDWIDTH_PART = "bandwidth_part";
    /** Peak of products of 16-bit operands, in TFLOP/s. */
    public static final String PEAK_HALF = "peak_half_tflops";
    /** Peak of products of single precision as the program computes them, in TFLOP/s. */
    public static final String PEAK_SINGLE = "peak_single_tflops";
    /** Part of the peak that large products reach. */
    public static final String PEAK_PART = "peak_part";
    /** Time between operations that are issued one by one, in microseconds. */
    public static final String LAUNCH = "launch_us";
    /** Time between operations of a CUDA graph, in microseconds. */
    public static final String GRAPH_LAUNCH = "graph_launch_us";
    /** Latency of one step of a ring within a node, in microseconds. */
    public static final String NODE_LATENCY = "node_latency_us";
    /** Bandwidth of a rank within a node, in one direction, in GB/s. */
    public static final String NODE_LINK = "node_link_gbs";
    /** Latency of one step between nodes, in microseconds. */
    public static final String NET_LATENCY = "net_latency_us";
    /** Bandwidth of a rank between nodes, in one direction, in GB/s. */
    public static final String NET_LINK = "net_link_gbs";
    /** Rate at which the loader of one rank supplies samples, in GB/s. */
    public static final String LOADER = "loader_gbs";
    /** Rate at which the loaders of one node supply samples together, in GB/s. */
    public static final String NODE_LOADER = "node_loader_gbs";

    /** All keys. */
    static final List<String> ALL = List.of(RANKS_PER_NODE, CORES, MEMORY, DRIVER, COMMUNICATOR, BANDWIDTH,
        BANDWIDTH_PART, PEAK_HALF, PEAK_SINGLE, PEAK_PART, LAUNCH, GRAPH_LAUNCH, NODE_LATENCY, NODE_LINK, NET_LATENCY,
        NET_LINK, LOADER, NODE_LOADER);

    /** Keys whose number may be 0. */
    static final List<String> MAY_BE_ZERO = List.of(DRIVER, COMMUNICATOR, LAUNCH, GRAPH_LAUNCH, NODE_LATENCY,
        NET_LATENCY);
    /** Keys that count. */
    static final List<String> COUNTS = List.of(RANKS_PER_NODE, CORES);

    private MachineKeys() { }
}
