/** The benchmark of the CPU, part by part, each in a process of its own. */
package org.isobar.bench.suite;
