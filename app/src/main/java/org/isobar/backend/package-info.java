/** What all back ends have in common: the checks around their operations. Each back end is a package below. */
package org.isobar.backend;
