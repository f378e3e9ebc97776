package org.isobar.config.keys;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Keys that are declared together. Their order of declaration is their order in the log and in the help. */
public abstract class KeyGroup {
    private final List<Key<?>> declared = new ArrayList<>();

    /** For declarations in a field's initializer: adds the key to the group and returns it. */
    final <T> Key<T> add(Key<T> key) {
        declared.add(key);
        return key;
    }

    /** The group's keys in order of declaration. */
    public final List<Key<?>> keys() {
        return Collections.unmodifiableList(declared);
    }
}
