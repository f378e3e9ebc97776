package org.isobar.config.keys;

/**
 * A value given for a key, before its type is known.
 *
 * @param raw a {@code String}, or a {@code List} of raw values
 * @param origin where it was given: {@code line 12}, {@code --lr}, {@code DATADIR}
 */
public record Setting(Object raw, String origin) { }
