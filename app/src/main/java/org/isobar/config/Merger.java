package org.isobar.config;

import java.io.Reader;

import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;

/** SnakeYAML's resolution of merge keys ({@code <<: *base}) and refusal of duplicate keys, on nodes. */
final class Merger extends SafeConstructor {
    Merger() {
        super(options());
    }

    /** The document's root, null where there is none. */
    Node compose(Reader document) {
        return new Yaml(options()).compose(document);
    }

    /** Replaces the merge keys of this one map by what they stand for. */
    void flatten(MappingNode map) {
        flattenMapping(map);
    }

    private static LoaderOptions options() {
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        return options;
    }
}
