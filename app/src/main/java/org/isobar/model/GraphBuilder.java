package org.isobar.model;

/**
 * Receives a forward pass as a graph of ONNX operators, in the order of the computation. A value is known by its name;
 * each method returns the name of the value that it adds. All names of a graph differ.
 */
public interface GraphBuilder {
    /** A weight of the {@code state_dict}, F32, under its name and in its shape there. */
    String weight(String name);

    /** A constant vector of 64-bit integers, such as the shape that {@code Reshape} reads. */
    String integers(String name, long... values);

    /** A constant scalar, F32. */
    String scalar(String name, double value);

    /**
     * Applies an operator to values that are in the graph already.
     *
     * @param name   name of the node and of its output
     * @param inputs names of its inputs, in the operator's order
     */
    String node(String name, Operator operator, String... inputs);
}
