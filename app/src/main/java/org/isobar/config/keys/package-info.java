/**
 * The declarations of all configuration keys ({@link org.isobar.config.keys.Keys}), the types of their values, and the
 * values given for them ({@link org.isobar.config.keys.Settings}).
 */
package org.isobar.config.keys;
