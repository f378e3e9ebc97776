/** {@code isobar plan}. */
package org.isobar.cli.plan;
