package org.isobar.config.keys;

/**
 * A key's value before its type is known.
 *
 * @param raw a {@code String}, or a {@code List} of raw values
 * @param origin where it stands: {@code line 12}, {@code --lr}, {@code DATADIR}
 */
public record Setting(Object raw, String origin) { }
