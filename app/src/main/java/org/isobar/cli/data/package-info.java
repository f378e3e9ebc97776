/** {@code isobar data}: what to know of weather files before training on them. */
package org.isobar.cli.data;
