package org.isobar.cli.options;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.config.keys.Key;
import org.isobar.config.keys.Key.KeyOption;
import org.isobar.config.keys.Keys;
import org.isobar.fault.UserException;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Column;
import picocli.CommandLine.Help.TextTable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.ParseResult;

/**
 * The command-line options that choose and override a preset. Those of keys follow from {@link Keys}:
 * {@code --KEY text} gives the key of that name the value that {@code text} would be in the preset file.
 */
public final class ConfigOptions {
    private static final String FILE = "--yaml_config";
    private static final String PRESET = "--config";
    private static final String SET = "--set";

    private ConfigOptions() { }

    /** Adds the options to a command. */
    public static void declare(CommandSpec spec) {
        declareFor(spec, Keys.ALL);
        spec.usageMessage().sectionMap().put(UsageMessageSpec.SECTION_KEY_FOOTER, _ -> keysWithoutOption());
    }

    /** Adds the options that choose a preset and override some keys to a command. */
    public static void declareFor(CommandSpec spec, List<Key<?>> keys) {
        spec.addOption(OptionSpec.builder(FILE).paramLabel("FILE").type(String.class).description("File of presets. "
            + "Default: ./config/ViT.yaml, else the one beside the launcher.").build());
        spec.addOption(OptionSpec.builder(PRESET).paramLabel("NAME").type(String.class).description("Preset to run; "
            + "demo needs no data. Options replace its values; a key that neither gives has its default. "
            + "Default: base.").build());
        spec.addOption(OptionSpec.builder(SET).paramLabel("KEY=VALUE").type(List.class).auxiliaryTypes(String.class)
            .description("Set any key of the preset; may be repeated.").build());
        declare(spec, keys);
    }

    /** Adds the options of some keys to a command that has no preset. */
    public static void declare(CommandSpec spec, List<Key<?>> keys) {
        for (Key<?> key : keys) {
            key.option().ifPresent(option -> spec.addOption(option(key, option)));
        }
    }

    /** Whether a command chooses and overrides a preset. */
    public static boolean areDeclaredBy(CommandSpec spec) {
        return spec.findOption(PRESET) != null
            && spec.options().stream().anyMatch(option -> option.userObject() instanceof Key<?>);
    }

    /** The values of the options of keys that were given, by the keys' names. */
    public static Map<String, String> settings(ParseResult parsed) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (OptionSpec option : parsed.matchedOptions()) {
            if (option.userObject() instanceof Key<?> key) {
                settings.put(key.name(), given(option.longestName(), option.getValue().toString()));
            }
        }
        return settings;
    }

    /** The configuration that the parsed options ask for. */
    public static RunConfig resolve(ParseResult parsed, ProgramContext context) {
        return ConfigLoader.load(request(parsed, context));
    }

    /** What the parsed options ask for: a preset of a file, and what overrides it. */
    public static ConfigRequest request(ParseResult parsed, ProgramContext context) {
        String file = given(FILE, parsed.matchedOptionValue(FILE, context.defaultPresets().toString()));
        String preset = parsed.matchedOptionValue(PRESET, "base");
        ConfigRequest request = new ConfigRequest(Path.of(file), preset, context.environment());
        for (Map.Entry<String, String> setting : settings(parsed).entrySet()) {
            request = request.with(setting.getKey(), setting.getValue());
        }
        for (String assignment : parsed.matchedOptionValue(SET, List.<String>of())) {
            request = request.set(assignment);
        }
        return request;
    }

    /** The value of an option; an empty one is most often an unset variable of a script. */
    private static String given(String option, String value) {
        if (value.isBlank()) {
            throw new UserException(option + " is empty. Give it a value, or leave it out.");
        }
        return value;
    }

    private static OptionSpec option(Key<?> key, KeyOption option) {
        OptionSpec.Builder builder = OptionSpec.builder("--" + key.name(), option.aliases().stream()
            .map(alias -> "--" + alias).toArray(String[]::new)).userObject(key).description(key.description());
        return key.isSwitch() ? builder.type(boolean.class).build()
            : builder.type(String.class).paramLabel(option.label()).build();
    }

    /** The last section of the help. To build it takes as long as to declare all options, so only the help does. */
    private static String keysWithoutOption() {
        TextTable table = TextTable.forColumns(Help.defaultColorScheme(Help.Ansi.OFF),
            new Column(29, 2, Column.Overflow.SPAN), new Column(51, 1, Column.Overflow.WRAP));
        Keys.ALL.stream().filter(key -> key.option().isEmpty())
            .forEach(key -> table.addRowValues(key.name() + "=" + key.type().label(), key.description()));
        return "Keys without an option, for --set and presets:%n%s%n".formatted(table.toString().stripTrailing());
    }
}
