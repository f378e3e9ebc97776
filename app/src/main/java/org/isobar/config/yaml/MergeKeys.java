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
    private static final int MAX_ALIASES = 1000;
    private static final int MAX_NESTING = 50;

    private final Set<Node> seen = Collections.newSetFromMap(new IdentityHashMap<>());

    private MergeKeys() {
        super(options());
        setAllowDuplicateKeys(false);
    }

    /**
     * The document's root node with all merge keys resolved; null if the document is empty.
     *
     * @throws org.yaml.snakeyaml.error.YAMLException if the document is not valid YAML, is too large or nested too
     *                                                deeply
     */
    static Node compose(Reader document) {
        Node root = new Yaml(options()).compose(document);
        if (root != null) {
            DocumentSize.check(root);
        }
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
        options.setMaxAliasesForCollections(MAX_ALIASES);
        options.setNestingDepthLimit(MAX_NESTING);
        options.setCodePointLimit(YamlFile.MAX_BYTES);
        return options;
    }
}
