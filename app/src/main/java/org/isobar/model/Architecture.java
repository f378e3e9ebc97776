package org.isobar.model;

import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;

/**
 * A kind of model that presets choose by name. An architecture enters itself into the registry by a line in
 * {@code META-INF/services/org.isobar.model.Architecture} ({@link ServiceLoader}); nothing else has to know it.
 */
public interface Architecture {
    /** The value of preset key {@code architecture} that chooses it. */
    String name();

    /** The model that a preset describes. */
    ModelSpec spec(ModelOptions options);

    /** All architectures on the class path, by name. */
    static Map<String, Architecture> registered() {
        Map<String, Architecture> registered = new TreeMap<>();
        for (Architecture architecture : ServiceLoader.load(Architecture.class, Architecture.class.getClassLoader())) {
            registered.put(architecture.name(), architecture);
        }
        return registered;
    }
}
