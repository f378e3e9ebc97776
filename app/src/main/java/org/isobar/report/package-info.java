/** A page about one or several runs, made of their metrics. */
package org.isobar.report;
