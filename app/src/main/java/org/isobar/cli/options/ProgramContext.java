package org.isobar.cli.options;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * The directory and the environment that the program was started with.
 *
 * @param home the directory of the launcher
 * @param environment the environment variables
 */
public record ProgramContext(Path home, Map<String, String> environment) {
    private static final Path PRESETS = Path.of("config", "ViT.yaml");

    /** The preset file of the current directory if there is one, else the one beside the launcher. */
    public Path defaultPresets() {
        return Files.exists(PRESETS) ? PRESETS : home.resolve(PRESETS);
    }
}
