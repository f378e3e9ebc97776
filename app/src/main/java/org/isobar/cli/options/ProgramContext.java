package org.isobar.cli.options;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The directory and the environment that the program was started with.
 *
 * @param home the directory of the launcher
 * @param environment the environment variables
 */
public record ProgramContext(Path home, Map<String, String> environment) {
    private static final Path PRESETS = Path.of("config", "ViT.yaml");
    private static final String DATA = "DATADIR";

    /** The preset file of the current directory if there is one, else the one beside the launcher. */
    public Path defaultPresets() {
        return Files.exists(PRESETS) ? PRESETS : home.resolve(PRESETS);
    }

    /** The directory that DATADIR names; an empty variable names none. */
    public Optional<Path> dataDirectory() {
        return Optional.ofNullable(environment.get(DATA)).filter(name -> !name.isBlank()).map(Path::of);
    }
}
