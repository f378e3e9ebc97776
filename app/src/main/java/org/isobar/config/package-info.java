/**
 * The configuration of one run: a preset of a YAML file, overridden by environment and command line, checked, as
 * records. {@link org.isobar.config.keys.Keys} declares every key; {@link org.isobar.config.ConfigLoader} is the way
 * in.
 */
package org.isobar.config;
