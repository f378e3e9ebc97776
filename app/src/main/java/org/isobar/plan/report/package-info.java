/** What plans are shown as, and what they are checked against. */
package org.isobar.plan.report;
