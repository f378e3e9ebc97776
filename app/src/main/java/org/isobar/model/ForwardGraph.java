package org.isobar.model;

/**
 * The forward pass of a model in ONNX's operators (version 17 of its standard set), without dropout. The size of the
 * batch is not fixed.
 */
public interface ForwardGraph {
    /** ONNX's version of the operators. */
    int OPERATOR_SET = 17;

    /**
     * Adds the pass to a graph.
     *
     * @param input name of the normalized input, (B, Cin, H, W), F32
     * @return name of the normalized prediction, (B, Cout, H, W), F32
     */
    String build(GraphBuilder graph, String input);
}
