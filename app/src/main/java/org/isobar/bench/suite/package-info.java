/** The CPU benchmark. Each part runs in its own process. */
package org.isobar.bench.suite;
