package org.isobar.model;

import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;

/**
 * A kind of model that presets select by name. An architecture is registered by a line in
 * {@code META-INF/services/org.isobar.model.Architecture} ({@link ServiceLoader}); no other code refers to it.
 */
public interface Architecture {
    /** The value of preset key {@code architecture} that selects this architecture. */
    String name();

    /** The model that a preset with these options describes. */
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
