package org.isobar.cli.options;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * What the program was started with besides its arguments.
 *
 * @param home the directory of the launcher
 * @param environment the environment variables
 */
public record ProgramContext(Path home, Map<String, String> environment) {
    private static final Path PRESETS = Path.of("config", "ViT.yaml");

    /** The presets of the current directory or, where there are none, those beside the launcher. */
    Path defaultPresets() {
        return Files.exists(PRESETS) ? PRESETS : home.resolve(PRESETS);
    }
}
