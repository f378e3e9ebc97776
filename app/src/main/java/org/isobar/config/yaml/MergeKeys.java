package org.isobar.config.yaml;

import java.io.Reader;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Resolves merge keys ({@code <<: *base}) and rejects duplicate keys in YAML nodes, as SnakeYAML's constructor does.
 */
final class MergeKeys extends SafeConstructor {
    private final Set<Node> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private MergeKeys() {
        super(options());
        setAllowDuplicateKeys(false);
    }

    /** The document's root node with all merge keys resolved; null if the document is empty. */
    static Node compose(Reader document) {
        Node root = new Yaml(options()).compose(document);
        new MergeKeys().merge(root);
        return root;
    }

    /** Resolves in document order, so that an anchor is resolved before the maps that merge it. */
    private void merge(Node node) {
        if (!seen.add(node)) {
            return;
        }
        if (node instanceof SequenceNode list) {
            list.getValue().forEach(this::merge);
        } else if (node instanceof MappingNode map) {
            map.getValue().forEach(entry -> merge(entry.getValueNode()));
            flattenMapping(map);
        }
    }

    private static LoaderOptions options() {
        LoaderOptions options = new LoaderOptions();
        options.setMaxAliasesForCollections(Integer.MAX_VALUE);
        return options;
    }
}
