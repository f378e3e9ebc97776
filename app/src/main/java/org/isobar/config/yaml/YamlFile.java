package org.isobar.config.yaml;

import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.config.keys.Setting;
import org.isobar.config.keys.SpellingSuggestion;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;

/**
 * Reads presets from a YAML file and resolves anchors and merge keys. Scalars stay text: it reads YAML nodes, which
 * have line numbers, and does not construct YAML's types.
 */
public final class YamlFile {
    /** Largest size of a file of presets. */
    static final int MAX_BYTES = 1 << 20;

    private final Path file;
    private final Optional<String> content;

    /** The presets of {@code file}, which is read by {@link #preset}. */
    public YamlFile(Path file) {
        this(file, Optional.empty());
    }

    private YamlFile(Path file, Optional<String> content) {
        this.file = file;
        this.content = content;
    }

    /**
     * The presets of a text that was read from elsewhere.
     *
     * @param name what messages call it
     */
    public static YamlFile of(Path name, String content) {
        return new YamlFile(name, Optional.of(content));
    }

    /**
     * The settings of one preset. Keys of nested maps have dotted names, such as {@code synthetic.seed}.
     *
     * @throws UserException if the file cannot be read, is not valid YAML, or has no such preset
     */
    public Map<String, Setting> preset(String name) {
        try {
            Map<String, Node> presets = presets();
            if (!presets.containsKey(name)) {
                throw new UserException("%s has no preset '%s'.%s It has: %s.".formatted(
                    file, name, SpellingSuggestion.hint(name, presets.keySet()), String.join(", ", presets.keySet())));
            }
            Map<String, Setting> settings = new LinkedHashMap<>();
            collect(presets.get(name), "", settings);
            return settings;
        } catch (MarkedYAMLException e) {
            throw broken(e);
        } catch (YAMLException e) {
            throw new UserException(file + " is not valid YAML: " + reason(e) + ".", e);
        }
    }

    /**
     * The names of the presets, in the order of the file.
     *
     * @throws UserException if the file cannot be read, or is not valid YAML
     */
    public List<String> names() {
        try {
            return List.copyOf(presets().keySet());
        } catch (MarkedYAMLException e) {
            throw broken(e);
        } catch (YAMLException e) {
            throw new UserException(file + " is not valid YAML: " + reason(e) + ".", e);
        }
    }

    private Map<String, Node> presets() {
        Map<String, Node> presets = new LinkedHashMap<>();
        if (!(MergeKeys.compose(new StringReader(read())) instanceof MappingNode map)) {
            throw new UserException(file + " holds no presets: expected 'NAME:' and below it, indented, keys.");
        }
        map.getValue().forEach(entry -> presets.put(text(entry.getKeyNode()), entry.getValueNode()));
        return presets;
    }

    /** The raw value of a YAML text, for {@code --set KEY=VALUE}. */
    public static Object value(String text, String origin) {
        try {
            return raw(MergeKeys.compose(new StringReader(text)));
        } catch (YAMLException e) {
            throw new UserException(origin + " is not valid YAML; write the value as in the preset file.", e);
        }
    }

    private String read() {
        if (content.isPresent()) {
            return content.get();
        }
        try {
            byte[] bytes = RegularFile.read(file, MAX_BYTES);
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (NoSuchFileException e) {
            throw new UserException(
                "There is no configuration file " + file + ". Name one with --yaml_config=FILE.", e);
        } catch (CharacterCodingException e) {
            throw new UserException("The configuration file " + file + " is not UTF-8 text.", e);
        } catch (IOException e) {
            throw FileFault.unreadable("configuration file " + file, e);
        }
    }

    private void collect(Node node, String prefix, Map<String, Setting> settings) {
        if (!(node instanceof MappingNode map)) {
            throw new UserException(file + ", " + line(node) + ": expected keys and values.");
        }
        if (map.isTwoStepsConstruction()) {
            throw new UserException(file + ", " + line(node) + ": a map cannot be part of itself.");
        }
        for (NodeTuple entry : map.getValue()) {
            String key = prefix + text(entry.getKeyNode());
            if (entry.getValueNode() instanceof MappingNode nested) {
                collect(nested, key + ".", settings);
            } else {
                settings.put(key, new Setting(raw(entry.getValueNode()), line(entry.getKeyNode())));
            }
        }
    }

    private static Object raw(Node node) {
        return switch (node) {
            case ScalarNode scalar -> scalar.getValue();
            case SequenceNode list when !list.isTwoStepsConstruction() -> list.getValue().stream()
                .map(YamlFile::raw).toList();
            case null -> "";
            default -> "{...}";
        };
    }

    private static String text(Node key) {
        return key instanceof ScalarNode scalar ? scalar.getValue() : "{...}";
    }

    private static String line(Node node) {
        return "line " + (node.getStartMark().getLine() + 1);
    }

    private UserException broken(MarkedYAMLException e) {
        Mark mark = e.getProblemMark() == null ? e.getContextMark() : e.getProblemMark();
        String problem = e.getProblem() == null ? reason(e) : e.getProblem();
        String remedy = problem.contains("TAB") ? " YAML is indented with spaces, never with tabs." : "";
        String place = mark == null ? "" : ", line %d, column %d".formatted(mark.getLine() + 1, mark.getColumn() + 1);
        return new UserException(file + place + ": not valid YAML: " + problem + "." + remedy, e);
    }

    /** The first line of SnakeYAML's message; the others quote the file. */
    private static String reason(YAMLException e) {
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage().lines().findFirst().orElse("");
    }
}
