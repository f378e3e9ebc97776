/** Reads presets from YAML files. Nothing but this package knows SnakeYAML. */
package org.isobar.config.yaml;
