/**
 * One run's configuration: a preset of a YAML file, overlaid with command-line options, checked and turned into
 * records. {@link org.isobar.config.keys.Keys} declares every key; {@link org.isobar.config.ConfigLoader} is the way
 * in.
 */
package org.isobar.config;
