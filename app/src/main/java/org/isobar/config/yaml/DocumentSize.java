package org.isobar.config.yaml;

import java.util.IdentityHashMap;
import java.util.Map;

import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Number of nodes and depth of a YAML document with each alias replaced by its anchor. A few lines whose aliases refer
 * to each other can stand for more nodes than any memory holds.
 */
final class DocumentSize {
    private static final long MAX_NODES = 100_000;
    private static final int MAX_DEPTH = 100;

    /** A node that is being measured. It contains itself, and the reader of its value reports that. */
    private static final Size OPEN = new Size(1, 1);

    private final Map<Node, Size> sizes = new IdentityHashMap<>();

    private record Size(long nodes, int depth) {
        Size plus(Size child) {
            return new Size(Math.min(MAX_NODES + 1, nodes + child.nodes), Math.max(depth, child.depth + 1));
        }
    }

    private DocumentSize() { }

    /**
     * Checks a document, in time proportional to its text.
     *
     * @throws YAMLException if the document is too large or too deep
     */
    static void check(Node root) {
        Size size = new DocumentSize().of(root);
        if (size.nodes > MAX_NODES || size.depth > MAX_DEPTH) {
            throw new YAMLException("with its aliases replaced it has more than " + MAX_NODES + " values, or more than "
                + MAX_DEPTH + " levels");
        }
    }

    /** Measures in document order: an alias comes after its anchor, which is then measured already. */
    private Size of(Node node) {
        Size known = sizes.putIfAbsent(node, OPEN);
        if (known != null) {
            return known;
        }
        Size size = OPEN;
        if (node instanceof SequenceNode list) {
            for (Node element : list.getValue()) {
                size = size.plus(of(element));
            }
        } else if (node instanceof MappingNode map) {
            for (NodeTuple entry : map.getValue()) {
                size = size.plus(of(entry.getKeyNode())).plus(of(entry.getValueNode()));
            }
        }
        sizes.put(node, size);
        return size;
    }
}
