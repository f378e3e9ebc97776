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

/** SnakeYAML's resolution of merge keys ({@code <<: *base}) and its refusal of duplicate keys, on nodes. */
final class MergeKeys extends SafeConstructor {
    private final Set<Node> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private MergeKeys() {
        super(options());
        setAllowDuplicateKeys(false);
    }

    /** The document's root, null where there is none; its maps hold what their merge keys stand for. */
    static Node compose(Reader document) {
        Node root = new Yaml(options()).compose(document);
        new MergeKeys().merge(root);
        return root;
    }

    /** In the document's order, so that what a map merges is itself merged already. */
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
